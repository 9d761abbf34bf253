"""One server that speaks no HTTP, at 127.0.0.1:PORT, until it is ended: listen.py KIND PORT"""
import concurrent.futures
import multiprocessing.connection
import sys
import time

kind, port = sys.argv[1], int(sys.argv[2])
at = f"127.0.0.1:{port}"
if kind == "grpc":
    import grpc

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    server.add_insecure_port(at)
    server.start()
elif kind == "multiprocessing":
    listener = multiprocessing.connection.Listener(("127.0.0.1", port), authkey=b"key")
    print("ready", flush=True)
    while True:
        listener.accept()
else:  # a kind of ZeroMQ
    import zmq

    socket = zmq.Context().socket(getattr(zmq, kind))
    socket.bind("tcp://" + at)
print("ready", flush=True)
time.sleep(600)
