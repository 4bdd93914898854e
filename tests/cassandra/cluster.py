"""A cluster of real Cassandra nodes on loopback: started, asked and ended."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy

USER = PASSWORD = "cassandra"
# Two nodes with a heap of 1 GB each, and their other memory.
TWO_NODES_BYTES = 5 * 2**30
START_SECONDS = 240

# The options that Cassandra's own start script passes to Java 17.
EXPORTS = [
    "java.base/jdk.internal.misc", "java.base/java.lang.ref", "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry", "java.rmi/sun.rmi.server", "java.rmi/sun.rmi.transport.tcp", "java.sql/java.sql",
    "jdk.unsupported/sun.misc", "jdk.compiler/com.sun.tools.javac.file",
]
OPENS = [
    "java.base/java.lang.module", "java.base/java.lang.reflect", "java.base/java.net", "java.base/java.util",
    "java.base/java.util.concurrent", "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect", "java.base/jdk.internal.math",
    "java.base/jdk.internal.module", "java.base/jdk.internal.util.jar", "java.base/sun.nio.ch", "java.base/java.io",
    "java.base/java.nio", "java.base/java.lang", "java.rmi/sun.rmi.transport.tcp",
    "jdk.management/com.sun.management.internal", "jdk.compiler/com.sun.tools.javac",
]

YAML = """
cluster_name: trestle
num_tokens: 16
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
data_file_directories: [{home}/data]
commitlog_directory: {home}/commitlog
saved_caches_directory: {home}/caches
hints_directory: {home}/hints
cdc_raw_directory: {home}/cdc
commitlog_sync: periodic
commitlog_sync_period: 10s
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{{seeds: "127.0.0.1:{storage}"}}]
listen_address: {address}
storage_port: {storage}
ssl_storage_port: {secure}
rpc_address: {address}
native_transport_port: {native}
endpoint_snitch: SimpleSnitch
authenticator: PasswordAuthenticator
authorizer: AllowAllAuthorizer
"""

LOGGING = """<configuration>
<appender name="OUT" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%-5level %d %logger{0} %msg%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>"""


def free_ports(addresses, count):
    """Ports that are free on all addresses: a driver asks every node on the same one."""
    found = []
    for port in range(21000 + os.getpid() % 10000, 65000):
        try:
            for address in addresses:
                with socket.socket() as tried:
                    tried.bind((address, port))
        except OSError:
            continue
        found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError("there are no free ports")


def available_bytes():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


class Nodes:
    """One node, or two if memory allows. Each is ended by its own id."""

    def __init__(self, class_path, logs):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="trestle-cassandra-"))
        self.class_path = class_path
        self.logs = pathlib.Path(logs)
        count = 2 if available_bytes() > TWO_NODES_BYTES else 1
        self.addresses = [f"127.0.0.{node + 1}" for node in range(count)]
        self.native, self.storage, self.secure = free_ports(self.addresses, 3)
        self.running = []
        self.cluster = None
        try:
            for address in self.addresses:
                self.start(address)
            self.connect()
        except BaseException:
            self.stop()
            raise

    def start(self, address):
        home = self.home / address
        home.mkdir()
        settings = dict(home=home, address=address, native=self.native, storage=self.storage, secure=self.secure)
        (home / "cassandra.yaml").write_text(YAML.format(**settings))
        (home / "logback.xml").write_text(LOGGING)
        jamm = next(jar for jar in self.class_path.split(":") if "/jamm" in jar)
        java = ["java", "-Xms256m", "-Xmx1g", f"-javaagent:{jamm}", "-Djava.net.preferIPv4Stack=true",
                "-Djdk.attach.allowAttachSelf=true", f"-Dcassandra.config=file://{home}/cassandra.yaml",
                f"-Dlogback.configurationFile={home}/logback.xml", f"-Dcassandra.storagedir={home}",
                f"-Dcassandra.logdir={home}", "-Dcassandra.ring_delay_ms=2000", "-Dcassandra.superuser_setup_delay_ms=0",
                "-Dcassandra-foreground=yes"]
        java += [f"--add-exports={package}=ALL-UNNAMED" for package in EXPORTS]
        java += [f"--add-opens={package}=ALL-UNNAMED" for package in OPENS]
        java += ["-cp", self.class_path, "org.apache.cassandra.service.CassandraDaemon"]
        log = self.logs / f"cassandra-{address}.log"
        with open(log, "w") as out:
            process = subprocess.Popen(java, stdout=out, stderr=subprocess.STDOUT, cwd=home, start_new_session=True)
        self.running.append(process)
        until = time.monotonic() + START_SECONDS
        while "Starting listening for CQL clients" not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"Cassandra did not start at {address}; {log} says why")
            time.sleep(0.5)

    def connect(self):
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                # On both nodes one after the other: rows are written to both.
                profile = ExecutionProfile(request_timeout=60, load_balancing_policy=RoundRobinPolicy())
                self.cluster = Cluster(self.addresses, port=self.native, auth_provider=PlainTextAuthProvider(USER, PASSWORD),
                                       execution_profiles={EXEC_PROFILE_DEFAULT: profile}, connect_timeout=20)
                self.session = self.cluster.connect()
                peers = list(self.session.execute("SELECT peer FROM system.peers"))
                if len(peers) == len(self.addresses) - 1:
                    return
            except Exception:  # The default user is made a moment after the node listens.
                if time.monotonic() > until:
                    raise
            if self.cluster:
                self.cluster.shutdown()
            time.sleep(1)

    def cqlsh(self, *arguments, seconds=120):
        cqlsh = pathlib.Path(os.environ["CQLSH"])
        command = [str(cqlsh), "127.0.0.1", str(self.native), "-u", USER, "-p", PASSWORD, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        if done.returncode != 0:
            raise RuntimeError(f"cqlsh {arguments}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def stop(self):
        if self.cluster:
            self.cluster.shutdown()
        self.cluster = None
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        self.running = []
        shutil.rmtree(self.home, ignore_errors=True)
