"""The contract: the messages of reads, of calls of operators and of watches."""
from .client_pb2 import *
from .error_pb2 import *
from .group_pb2 import *
from .history_pb2 import *
from .lock_pb2 import *
from .server_pb2 import *
from .session_pb2 import *
from .watch_pb2 import *
