"""Answers with the times of schedules of exchange.json, from a model of a GPU."""

import json, sys

# Duration of each operation, in microseconds.
cost = {"Pack": 20, "tiles": 100, "rows": 200, "Outer": 30, "Sum": 10, "Send": 5, "Receive": 5}
sys.stdin.readline()
print(json.dumps({"warpsmith": 1, "platform": "a model of one GPU"}), flush=True)
for line in sys.stdin:
    now, streams, event, sent = 0, {}, {}, 0
    for step in json.loads(line)["steps"]:
        stream = step.get("stream")
        if "record" in step:
            event[step["record"]] = streams.get(stream, 0)
        elif "wait" in step and stream is None:
            now = max(now, event[step["wait"]])
        elif "wait" in step:
            streams[stream] = max(streams.get(stream, 0), event[step["wait"]])
        elif stream is None:
            now = max(now + cost[step["run"]], sent + 60 if step["run"] == "Receive" else 0)
            sent = now if step["run"] == "Send" else sent
        else:
            now += 2
            streams[stream] = max(now, streams.get(stream, 0)) + cost[step.get("as", step["run"])]
    print(json.dumps({"seconds": now * 1e-6}), flush=True)
