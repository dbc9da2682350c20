"""Ports for programs that listen on one that their test chose."""

import random
import socket


def free_port():
    """A port below those that the kernel gives to whoever asks for any: nobody else takes it before it is bound."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
