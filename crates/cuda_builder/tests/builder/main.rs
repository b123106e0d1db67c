//! Small kernel crates in, PTX or an error out.

mod device_code;
mod errors;
mod instructions;
mod krate;
mod rebuild;
mod reports;
