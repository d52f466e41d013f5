"""What the official conformance suite of MCP drives: the last argument is the URL of the scenario's server."""
import json
import os
import sys

import toolreg


def on_request(method, params):
    if method != "elicitation/create":
        return None
    fields = params["requestedSchema"]["properties"]
    chosen = {name: field["default"] for name, field in fields.items() if "default" in field}
    return {"action": "accept", "content": chosen}


def calls_for(rows):
    """What to call: what the scenario says, or else each tool that is usable, with arguments made for it."""
    told = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls")
    known = {"add_numbers": {"a": 5, "b": 3}, "json_schema_echo": {"schema": rows[0]["inputSchema"]} if rows else {}}
    made = [{"name": row["name"], "arguments": known.get(row["name"], {"region": "x"})} for row in rows]
    return told or made


with toolreg.McpClient(sys.argv[-1], on_request=on_request) as client:
    for call in calls_for(client.list_tools()):
        try:
            print(client.call_tool(call["name"], call["arguments"]))
        except toolreg.McpError as error:       # some scenarios have servers that only list
            print(error)
