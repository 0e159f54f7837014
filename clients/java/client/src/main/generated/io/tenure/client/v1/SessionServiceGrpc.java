package io.tenure.client.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Sessions: one client's presence. What a session holds and waits for ends when the session ends.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class SessionServiceGrpc {

  private SessionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.SessionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.OpenSessionRequest,
      io.tenure.client.v1.OpenSessionResponse> getOpenSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "OpenSession",
      requestType = io.tenure.client.v1.OpenSessionRequest.class,
      responseType = io.tenure.client.v1.OpenSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.OpenSessionRequest,
      io.tenure.client.v1.OpenSessionResponse> getOpenSessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.OpenSessionRequest, io.tenure.client.v1.OpenSessionResponse> getOpenSessionMethod;
    if ((getOpenSessionMethod = SessionServiceGrpc.getOpenSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getOpenSessionMethod = SessionServiceGrpc.getOpenSessionMethod) == null) {
          SessionServiceGrpc.getOpenSessionMethod = getOpenSessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.OpenSessionRequest, io.tenure.client.v1.OpenSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "OpenSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.OpenSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.OpenSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("OpenSession"))
              .build();
        }
      }
    }
    return getOpenSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.RenewRequest,
      io.tenure.client.v1.RenewResponse> getRenewMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Renew",
      requestType = io.tenure.client.v1.RenewRequest.class,
      responseType = io.tenure.client.v1.RenewResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.RenewRequest,
      io.tenure.client.v1.RenewResponse> getRenewMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.RenewRequest, io.tenure.client.v1.RenewResponse> getRenewMethod;
    if ((getRenewMethod = SessionServiceGrpc.getRenewMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getRenewMethod = SessionServiceGrpc.getRenewMethod) == null) {
          SessionServiceGrpc.getRenewMethod = getRenewMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.RenewRequest, io.tenure.client.v1.RenewResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Renew"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.RenewRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.RenewResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("Renew"))
              .build();
        }
      }
    }
    return getRenewMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.KeepAliveRequest,
      io.tenure.client.v1.KeepAliveResponse> getKeepAliveMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "KeepAlive",
      requestType = io.tenure.client.v1.KeepAliveRequest.class,
      responseType = io.tenure.client.v1.KeepAliveResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.KeepAliveRequest,
      io.tenure.client.v1.KeepAliveResponse> getKeepAliveMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.KeepAliveRequest, io.tenure.client.v1.KeepAliveResponse> getKeepAliveMethod;
    if ((getKeepAliveMethod = SessionServiceGrpc.getKeepAliveMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getKeepAliveMethod = SessionServiceGrpc.getKeepAliveMethod) == null) {
          SessionServiceGrpc.getKeepAliveMethod = getKeepAliveMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.KeepAliveRequest, io.tenure.client.v1.KeepAliveResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "KeepAlive"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.KeepAliveRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.KeepAliveResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("KeepAlive"))
              .build();
        }
      }
    }
    return getKeepAliveMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.CloseSessionRequest,
      io.tenure.client.v1.CloseSessionResponse> getCloseSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CloseSession",
      requestType = io.tenure.client.v1.CloseSessionRequest.class,
      responseType = io.tenure.client.v1.CloseSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.CloseSessionRequest,
      io.tenure.client.v1.CloseSessionResponse> getCloseSessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.CloseSessionRequest, io.tenure.client.v1.CloseSessionResponse> getCloseSessionMethod;
    if ((getCloseSessionMethod = SessionServiceGrpc.getCloseSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getCloseSessionMethod = SessionServiceGrpc.getCloseSessionMethod) == null) {
          SessionServiceGrpc.getCloseSessionMethod = getCloseSessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.CloseSessionRequest, io.tenure.client.v1.CloseSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CloseSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.CloseSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.CloseSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("CloseSession"))
              .build();
        }
      }
    }
    return getCloseSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.GetSessionRequest,
      io.tenure.client.v1.GetSessionResponse> getGetSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetSession",
      requestType = io.tenure.client.v1.GetSessionRequest.class,
      responseType = io.tenure.client.v1.GetSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.GetSessionRequest,
      io.tenure.client.v1.GetSessionResponse> getGetSessionMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.GetSessionRequest, io.tenure.client.v1.GetSessionResponse> getGetSessionMethod;
    if ((getGetSessionMethod = SessionServiceGrpc.getGetSessionMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getGetSessionMethod = SessionServiceGrpc.getGetSessionMethod) == null) {
          SessionServiceGrpc.getGetSessionMethod = getGetSessionMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.GetSessionRequest, io.tenure.client.v1.GetSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.GetSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.GetSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("GetSession"))
              .build();
        }
      }
    }
    return getGetSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ListSessionsRequest,
      io.tenure.client.v1.ListSessionsResponse> getListSessionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSessions",
      requestType = io.tenure.client.v1.ListSessionsRequest.class,
      responseType = io.tenure.client.v1.ListSessionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ListSessionsRequest,
      io.tenure.client.v1.ListSessionsResponse> getListSessionsMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ListSessionsRequest, io.tenure.client.v1.ListSessionsResponse> getListSessionsMethod;
    if ((getListSessionsMethod = SessionServiceGrpc.getListSessionsMethod) == null) {
      synchronized (SessionServiceGrpc.class) {
        if ((getListSessionsMethod = SessionServiceGrpc.getListSessionsMethod) == null) {
          SessionServiceGrpc.getListSessionsMethod = getListSessionsMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ListSessionsRequest, io.tenure.client.v1.ListSessionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSessions"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListSessionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListSessionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new SessionServiceMethodDescriptorSupplier("ListSessions"))
              .build();
        }
      }
    }
    return getListSessionsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static SessionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceStub>() {
        @java.lang.Override
        public SessionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceStub(channel, callOptions);
        }
      };
    return SessionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static SessionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingV2Stub>() {
        @java.lang.Override
        public SessionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return SessionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static SessionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceBlockingStub>() {
        @java.lang.Override
        public SessionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceBlockingStub(channel, callOptions);
        }
      };
    return SessionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static SessionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<SessionServiceFutureStub>() {
        @java.lang.Override
        public SessionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new SessionServiceFutureStub(channel, callOptions);
        }
      };
    return SessionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Sessions: one client's presence. What a session holds and waits for ends when the session ends.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Opens a session, or renews the open one of the same id.
     * </pre>
     */
    default void openSession(io.tenure.client.v1.OpenSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.OpenSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getOpenSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Renews one session once. Any server may be asked; it becomes the session's home if it was not, which costs a commit in the
     * database. A renewal at the session's home costs nothing there: so prefer the server that was asked last.
     * </pre>
     */
    default void renew(io.tenure.client.v1.RenewRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.RenewResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewMethod(), responseObserver);
    }

    /**
     * <pre>
     * Renews many sessions over one stream: each request is answered by one response, in order.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.tenure.client.v1.KeepAliveRequest> keepAlive(
        io.grpc.stub.StreamObserver<io.tenure.client.v1.KeepAliveResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getKeepAliveMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends a session at once, and with it all that it holds and waits for. An Acquire that a server received before, and that would open
     * it again, takes no effect any more: it is refused (ACQUIRE_CANCELLED).
     * </pre>
     */
    default void closeSession(io.tenure.client.v1.CloseSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.CloseSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCloseSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one open session with what it holds and waits for.
     * </pre>
     */
    default void getSession(io.tenure.client.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the open sessions in the order in which they were opened.
     * </pre>
     */
    default void listSessions(io.tenure.client.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListSessionsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service SessionService.
   * <pre>
   * Sessions: one client's presence. What a session holds and waits for ends when the session ends.
   * </pre>
   */
  public static abstract class SessionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return SessionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service SessionService.
   * <pre>
   * Sessions: one client's presence. What a session holds and waits for ends when the session ends.
   * </pre>
   */
  public static final class SessionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<SessionServiceStub> {
    private SessionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Opens a session, or renews the open one of the same id.
     * </pre>
     */
    public void openSession(io.tenure.client.v1.OpenSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.OpenSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getOpenSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Renews one session once. Any server may be asked; it becomes the session's home if it was not, which costs a commit in the
     * database. A renewal at the session's home costs nothing there: so prefer the server that was asked last.
     * </pre>
     */
    public void renew(io.tenure.client.v1.RenewRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.RenewResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Renews many sessions over one stream: each request is answered by one response, in order.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.tenure.client.v1.KeepAliveRequest> keepAlive(
        io.grpc.stub.StreamObserver<io.tenure.client.v1.KeepAliveResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getKeepAliveMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Ends a session at once, and with it all that it holds and waits for. An Acquire that a server received before, and that would open
     * it again, takes no effect any more: it is refused (ACQUIRE_CANCELLED).
     * </pre>
     */
    public void closeSession(io.tenure.client.v1.CloseSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.CloseSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCloseSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one open session with what it holds and waits for.
     * </pre>
     */
    public void getSession(io.tenure.client.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the open sessions in the order in which they were opened.
     * </pre>
     */
    public void listSessions(io.tenure.client.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service SessionService.
   * <pre>
   * Sessions: one client's presence. What a session holds and waits for ends when the session ends.
   * </pre>
   */
  public static final class SessionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<SessionServiceBlockingV2Stub> {
    private SessionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Opens a session, or renews the open one of the same id.
     * </pre>
     */
    public io.tenure.client.v1.OpenSessionResponse openSession(io.tenure.client.v1.OpenSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getOpenSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Renews one session once. Any server may be asked; it becomes the session's home if it was not, which costs a commit in the
     * database. A renewal at the session's home costs nothing there: so prefer the server that was asked last.
     * </pre>
     */
    public io.tenure.client.v1.RenewResponse renew(io.tenure.client.v1.RenewRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRenewMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Renews many sessions over one stream: each request is answered by one response, in order.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.tenure.client.v1.KeepAliveRequest, io.tenure.client.v1.KeepAliveResponse>
        keepAlive() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getKeepAliveMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Ends a session at once, and with it all that it holds and waits for. An Acquire that a server received before, and that would open
     * it again, takes no effect any more: it is refused (ACQUIRE_CANCELLED).
     * </pre>
     */
    public io.tenure.client.v1.CloseSessionResponse closeSession(io.tenure.client.v1.CloseSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCloseSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one open session with what it holds and waits for.
     * </pre>
     */
    public io.tenure.client.v1.GetSessionResponse getSession(io.tenure.client.v1.GetSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the open sessions in the order in which they were opened.
     * </pre>
     */
    public io.tenure.client.v1.ListSessionsResponse listSessions(io.tenure.client.v1.ListSessionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service SessionService.
   * <pre>
   * Sessions: one client's presence. What a session holds and waits for ends when the session ends.
   * </pre>
   */
  public static final class SessionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<SessionServiceBlockingStub> {
    private SessionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Opens a session, or renews the open one of the same id.
     * </pre>
     */
    public io.tenure.client.v1.OpenSessionResponse openSession(io.tenure.client.v1.OpenSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getOpenSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Renews one session once. Any server may be asked; it becomes the session's home if it was not, which costs a commit in the
     * database. A renewal at the session's home costs nothing there: so prefer the server that was asked last.
     * </pre>
     */
    public io.tenure.client.v1.RenewResponse renew(io.tenure.client.v1.RenewRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a session at once, and with it all that it holds and waits for. An Acquire that a server received before, and that would open
     * it again, takes no effect any more: it is refused (ACQUIRE_CANCELLED).
     * </pre>
     */
    public io.tenure.client.v1.CloseSessionResponse closeSession(io.tenure.client.v1.CloseSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCloseSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one open session with what it holds and waits for.
     * </pre>
     */
    public io.tenure.client.v1.GetSessionResponse getSession(io.tenure.client.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the open sessions in the order in which they were opened.
     * </pre>
     */
    public io.tenure.client.v1.ListSessionsResponse listSessions(io.tenure.client.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service SessionService.
   * <pre>
   * Sessions: one client's presence. What a session holds and waits for ends when the session ends.
   * </pre>
   */
  public static final class SessionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<SessionServiceFutureStub> {
    private SessionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected SessionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new SessionServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Opens a session, or renews the open one of the same id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.OpenSessionResponse> openSession(
        io.tenure.client.v1.OpenSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getOpenSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Renews one session once. Any server may be asked; it becomes the session's home if it was not, which costs a commit in the
     * database. A renewal at the session's home costs nothing there: so prefer the server that was asked last.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.RenewResponse> renew(
        io.tenure.client.v1.RenewRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends a session at once, and with it all that it holds and waits for. An Acquire that a server received before, and that would open
     * it again, takes no effect any more: it is refused (ACQUIRE_CANCELLED).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.CloseSessionResponse> closeSession(
        io.tenure.client.v1.CloseSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCloseSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one open session with what it holds and waits for.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.GetSessionResponse> getSession(
        io.tenure.client.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the open sessions in the order in which they were opened.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ListSessionsResponse> listSessions(
        io.tenure.client.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_OPEN_SESSION = 0;
  private static final int METHODID_RENEW = 1;
  private static final int METHODID_CLOSE_SESSION = 2;
  private static final int METHODID_GET_SESSION = 3;
  private static final int METHODID_LIST_SESSIONS = 4;
  private static final int METHODID_KEEP_ALIVE = 5;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_OPEN_SESSION:
          serviceImpl.openSession((io.tenure.client.v1.OpenSessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.OpenSessionResponse>) responseObserver);
          break;
        case METHODID_RENEW:
          serviceImpl.renew((io.tenure.client.v1.RenewRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.RenewResponse>) responseObserver);
          break;
        case METHODID_CLOSE_SESSION:
          serviceImpl.closeSession((io.tenure.client.v1.CloseSessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.CloseSessionResponse>) responseObserver);
          break;
        case METHODID_GET_SESSION:
          serviceImpl.getSession((io.tenure.client.v1.GetSessionRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.GetSessionResponse>) responseObserver);
          break;
        case METHODID_LIST_SESSIONS:
          serviceImpl.listSessions((io.tenure.client.v1.ListSessionsRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ListSessionsResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_KEEP_ALIVE:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.keepAlive(
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.KeepAliveResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getOpenSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.OpenSessionRequest,
              io.tenure.client.v1.OpenSessionResponse>(
                service, METHODID_OPEN_SESSION)))
        .addMethod(
          getRenewMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.RenewRequest,
              io.tenure.client.v1.RenewResponse>(
                service, METHODID_RENEW)))
        .addMethod(
          getKeepAliveMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.tenure.client.v1.KeepAliveRequest,
              io.tenure.client.v1.KeepAliveResponse>(
                service, METHODID_KEEP_ALIVE)))
        .addMethod(
          getCloseSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.CloseSessionRequest,
              io.tenure.client.v1.CloseSessionResponse>(
                service, METHODID_CLOSE_SESSION)))
        .addMethod(
          getGetSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.GetSessionRequest,
              io.tenure.client.v1.GetSessionResponse>(
                service, METHODID_GET_SESSION)))
        .addMethod(
          getListSessionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ListSessionsRequest,
              io.tenure.client.v1.ListSessionsResponse>(
                service, METHODID_LIST_SESSIONS)))
        .build();
  }

  private static abstract class SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    SessionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.client.v1.SessionOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("SessionService");
    }
  }

  private static final class SessionServiceFileDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier {
    SessionServiceFileDescriptorSupplier() {}
  }

  private static final class SessionServiceMethodDescriptorSupplier
      extends SessionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    SessionServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (SessionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new SessionServiceFileDescriptorSupplier())
              .addMethod(getOpenSessionMethod())
              .addMethod(getRenewMethod())
              .addMethod(getKeepAliveMethod())
              .addMethod(getCloseSessionMethod())
              .addMethod(getGetSessionMethod())
              .addMethod(getListSessionsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
