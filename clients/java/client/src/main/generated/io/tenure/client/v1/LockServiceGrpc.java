package io.tenure.client.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Locks: names that sessions hold or wait for. A lock needs no creation and leaves nothing but history when idle.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class LockServiceGrpc {

  private LockServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.LockService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.AcquireRequest,
      io.tenure.client.v1.AcquireResponse> getAcquireMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Acquire",
      requestType = io.tenure.client.v1.AcquireRequest.class,
      responseType = io.tenure.client.v1.AcquireResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.AcquireRequest,
      io.tenure.client.v1.AcquireResponse> getAcquireMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.AcquireRequest, io.tenure.client.v1.AcquireResponse> getAcquireMethod;
    if ((getAcquireMethod = LockServiceGrpc.getAcquireMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getAcquireMethod = LockServiceGrpc.getAcquireMethod) == null) {
          LockServiceGrpc.getAcquireMethod = getAcquireMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.AcquireRequest, io.tenure.client.v1.AcquireResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Acquire"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.AcquireRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.AcquireResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Acquire"))
              .build();
        }
      }
    }
    return getAcquireMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ReleaseRequest,
      io.tenure.client.v1.ReleaseResponse> getReleaseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Release",
      requestType = io.tenure.client.v1.ReleaseRequest.class,
      responseType = io.tenure.client.v1.ReleaseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ReleaseRequest,
      io.tenure.client.v1.ReleaseResponse> getReleaseMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ReleaseRequest, io.tenure.client.v1.ReleaseResponse> getReleaseMethod;
    if ((getReleaseMethod = LockServiceGrpc.getReleaseMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getReleaseMethod = LockServiceGrpc.getReleaseMethod) == null) {
          LockServiceGrpc.getReleaseMethod = getReleaseMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ReleaseRequest, io.tenure.client.v1.ReleaseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Release"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ReleaseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ReleaseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Release"))
              .build();
        }
      }
    }
    return getReleaseMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.CancelAcquireRequest,
      io.tenure.client.v1.CancelAcquireResponse> getCancelAcquireMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CancelAcquire",
      requestType = io.tenure.client.v1.CancelAcquireRequest.class,
      responseType = io.tenure.client.v1.CancelAcquireResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.CancelAcquireRequest,
      io.tenure.client.v1.CancelAcquireResponse> getCancelAcquireMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.CancelAcquireRequest, io.tenure.client.v1.CancelAcquireResponse> getCancelAcquireMethod;
    if ((getCancelAcquireMethod = LockServiceGrpc.getCancelAcquireMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getCancelAcquireMethod = LockServiceGrpc.getCancelAcquireMethod) == null) {
          LockServiceGrpc.getCancelAcquireMethod = getCancelAcquireMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.CancelAcquireRequest, io.tenure.client.v1.CancelAcquireResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CancelAcquire"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.CancelAcquireRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.CancelAcquireResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("CancelAcquire"))
              .build();
        }
      }
    }
    return getCancelAcquireMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.GetLockRequest,
      io.tenure.client.v1.GetLockResponse> getGetLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLock",
      requestType = io.tenure.client.v1.GetLockRequest.class,
      responseType = io.tenure.client.v1.GetLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.GetLockRequest,
      io.tenure.client.v1.GetLockResponse> getGetLockMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.GetLockRequest, io.tenure.client.v1.GetLockResponse> getGetLockMethod;
    if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
          LockServiceGrpc.getGetLockMethod = getGetLockMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.GetLockRequest, io.tenure.client.v1.GetLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.GetLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.GetLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("GetLock"))
              .build();
        }
      }
    }
    return getGetLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ListLocksRequest,
      io.tenure.client.v1.ListLocksResponse> getListLocksMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListLocks",
      requestType = io.tenure.client.v1.ListLocksRequest.class,
      responseType = io.tenure.client.v1.ListLocksResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ListLocksRequest,
      io.tenure.client.v1.ListLocksResponse> getListLocksMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ListLocksRequest, io.tenure.client.v1.ListLocksResponse> getListLocksMethod;
    if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
          LockServiceGrpc.getListLocksMethod = getListLocksMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ListLocksRequest, io.tenure.client.v1.ListLocksResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListLocks"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListLocksRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListLocksResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListLocks"))
              .build();
        }
      }
    }
    return getListLocksMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.EvictRequest,
      io.tenure.client.v1.EvictResponse> getEvictMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Evict",
      requestType = io.tenure.client.v1.EvictRequest.class,
      responseType = io.tenure.client.v1.EvictResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.EvictRequest,
      io.tenure.client.v1.EvictResponse> getEvictMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.EvictRequest, io.tenure.client.v1.EvictResponse> getEvictMethod;
    if ((getEvictMethod = LockServiceGrpc.getEvictMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getEvictMethod = LockServiceGrpc.getEvictMethod) == null) {
          LockServiceGrpc.getEvictMethod = getEvictMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.EvictRequest, io.tenure.client.v1.EvictResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Evict"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.EvictRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.EvictResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Evict"))
              .build();
        }
      }
    }
    return getEvictMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.TransferRequest,
      io.tenure.client.v1.TransferResponse> getTransferMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Transfer",
      requestType = io.tenure.client.v1.TransferRequest.class,
      responseType = io.tenure.client.v1.TransferResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.TransferRequest,
      io.tenure.client.v1.TransferResponse> getTransferMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.TransferRequest, io.tenure.client.v1.TransferResponse> getTransferMethod;
    if ((getTransferMethod = LockServiceGrpc.getTransferMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getTransferMethod = LockServiceGrpc.getTransferMethod) == null) {
          LockServiceGrpc.getTransferMethod = getTransferMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.TransferRequest, io.tenure.client.v1.TransferResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Transfer"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.TransferRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.TransferResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Transfer"))
              .build();
        }
      }
    }
    return getTransferMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.UpdateClaimRequest,
      io.tenure.client.v1.UpdateClaimResponse> getUpdateClaimMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateClaim",
      requestType = io.tenure.client.v1.UpdateClaimRequest.class,
      responseType = io.tenure.client.v1.UpdateClaimResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.UpdateClaimRequest,
      io.tenure.client.v1.UpdateClaimResponse> getUpdateClaimMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.UpdateClaimRequest, io.tenure.client.v1.UpdateClaimResponse> getUpdateClaimMethod;
    if ((getUpdateClaimMethod = LockServiceGrpc.getUpdateClaimMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getUpdateClaimMethod = LockServiceGrpc.getUpdateClaimMethod) == null) {
          LockServiceGrpc.getUpdateClaimMethod = getUpdateClaimMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.UpdateClaimRequest, io.tenure.client.v1.UpdateClaimResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateClaim"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.UpdateClaimRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.UpdateClaimResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("UpdateClaim"))
              .build();
        }
      }
    }
    return getUpdateClaimMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ConfigureLockRequest,
      io.tenure.client.v1.ConfigureLockResponse> getConfigureLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ConfigureLock",
      requestType = io.tenure.client.v1.ConfigureLockRequest.class,
      responseType = io.tenure.client.v1.ConfigureLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ConfigureLockRequest,
      io.tenure.client.v1.ConfigureLockResponse> getConfigureLockMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ConfigureLockRequest, io.tenure.client.v1.ConfigureLockResponse> getConfigureLockMethod;
    if ((getConfigureLockMethod = LockServiceGrpc.getConfigureLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getConfigureLockMethod = LockServiceGrpc.getConfigureLockMethod) == null) {
          LockServiceGrpc.getConfigureLockMethod = getConfigureLockMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ConfigureLockRequest, io.tenure.client.v1.ConfigureLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ConfigureLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ConfigureLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ConfigureLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ConfigureLock"))
              .build();
        }
      }
    }
    return getConfigureLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ListBlockedRequest,
      io.tenure.client.v1.ListBlockedResponse> getListBlockedMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListBlocked",
      requestType = io.tenure.client.v1.ListBlockedRequest.class,
      responseType = io.tenure.client.v1.ListBlockedResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ListBlockedRequest,
      io.tenure.client.v1.ListBlockedResponse> getListBlockedMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ListBlockedRequest, io.tenure.client.v1.ListBlockedResponse> getListBlockedMethod;
    if ((getListBlockedMethod = LockServiceGrpc.getListBlockedMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListBlockedMethod = LockServiceGrpc.getListBlockedMethod) == null) {
          LockServiceGrpc.getListBlockedMethod = getListBlockedMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ListBlockedRequest, io.tenure.client.v1.ListBlockedResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListBlocked"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListBlockedRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListBlockedResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListBlocked"))
              .build();
        }
      }
    }
    return getListBlockedMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ListHistoryRequest,
      io.tenure.client.v1.ListHistoryResponse> getListHistoryMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListHistory",
      requestType = io.tenure.client.v1.ListHistoryRequest.class,
      responseType = io.tenure.client.v1.ListHistoryResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ListHistoryRequest,
      io.tenure.client.v1.ListHistoryResponse> getListHistoryMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ListHistoryRequest, io.tenure.client.v1.ListHistoryResponse> getListHistoryMethod;
    if ((getListHistoryMethod = LockServiceGrpc.getListHistoryMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListHistoryMethod = LockServiceGrpc.getListHistoryMethod) == null) {
          LockServiceGrpc.getListHistoryMethod = getListHistoryMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ListHistoryRequest, io.tenure.client.v1.ListHistoryResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListHistory"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListHistoryRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListHistoryResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListHistory"))
              .build();
        }
      }
    }
    return getListHistoryMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static LockServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceStub>() {
        @java.lang.Override
        public LockServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceStub(channel, callOptions);
        }
      };
    return LockServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static LockServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingV2Stub>() {
        @java.lang.Override
        public LockServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return LockServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static LockServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub>() {
        @java.lang.Override
        public LockServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceBlockingStub(channel, callOptions);
        }
      };
    return LockServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static LockServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub>() {
        @java.lang.Override
        public LockServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceFutureStub(channel, callOptions);
        }
      };
    return LockServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Locks: names that sessions hold or wait for. A lock needs no creation and leaves nothing but history when idle.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Asks for one or several locks, all or nothing. That another session holds them is an answer, not an error.
     * Asking again with the same session and names returns the claim that is there, and renews the session. Any server may be asked,
     * also while another one is renewing the session or has an earlier call for the same claim: the wait belongs to the call that asked
     * last. If a call ends without an answer, its claim is cancelled after the server's reattach time (5 s by default), also if it was
     * granted meanwhile, unless the session has asked for it again or has acted on it by then. A grant whose server has died with
     * the call, or whose answer was lost on its way, stays until its session ends.
     * </pre>
     */
    default void acquire(io.tenure.client.v1.AcquireRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.AcquireResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAcquireMethod(), responseObserver);
    }

    /**
     * <pre>
     * Gives a hold back. Repeating a release that took effect is no error.
     * </pre>
     */
    default void release(io.tenure.client.v1.ReleaseRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ReleaseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReleaseMethod(), responseObserver);
    }

    /**
     * <pre>
     * Leaves the queue, or gives back what was granted meanwhile: afterwards the session has no claim to exactly these names, and no
     * Acquire for them that a server received before takes effect any more: it is refused (ACQUIRE_CANCELLED). A cancel without an
     * answer may arrive later, and cancel what the session asks for next under these names.
     * </pre>
     */
    default void cancelAcquire(io.tenure.client.v1.CancelAcquireRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.CancelAcquireResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCancelAcquireMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one lock. A lock that nobody ever asked for is an idle lock, not an error.
     * </pre>
     */
    default void getLock(io.tenure.client.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the locks that are held or waited for, in byte order of their names.
     * </pre>
     */
    default void listLocks(io.tenure.client.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListLocksMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends the hold of a lock against its holder's will. For operators; recorded in history.
     * </pre>
     */
    default void evict(io.tenure.client.v1.EvictRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.EvictResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEvictMethod(), responseObserver);
    }

    /**
     * <pre>
     * Hands a hold to a waiter as planned: in one step, with a higher token, and never with a gap in which nobody holds the
     * lock. The holder is asked to stop, and confirms by releasing; if it does not in time, it holds on. Answered when it is done.
     * </pre>
     */
    default void transfer(io.tenure.client.v1.TransferRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.TransferResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getTransferMethod(), responseObserver);
    }

    /**
     * <pre>
     * Replaces the metadata of a hold.
     * </pre>
     */
    default void updateClaim(io.tenure.client.v1.UpdateClaimRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.UpdateClaimResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateClaimMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets what claims to a lock have to go by, whether anybody claims it or not. For operators; recorded in history.
     * </pre>
     */
    default void configureLock(io.tenure.client.v1.ConfigureLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ConfigureLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getConfigureLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the claims that wait, in the order in which they were made, with those that they wait for.
     * </pre>
     */
    default void listBlocked(io.tenure.client.v1.ListBlockedRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListBlockedResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListBlockedMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists who held a lock, newest first: from when to when, with which token, and why it ended. As far back as history is
     * kept (the server's history_retention), and without those who only waited.
     * </pre>
     */
    default void listHistory(io.tenure.client.v1.ListHistoryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListHistoryResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListHistoryMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service LockService.
   * <pre>
   * Locks: names that sessions hold or wait for. A lock needs no creation and leaves nothing but history when idle.
   * </pre>
   */
  public static abstract class LockServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return LockServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service LockService.
   * <pre>
   * Locks: names that sessions hold or wait for. A lock needs no creation and leaves nothing but history when idle.
   * </pre>
   */
  public static final class LockServiceStub
      extends io.grpc.stub.AbstractAsyncStub<LockServiceStub> {
    private LockServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for one or several locks, all or nothing. That another session holds them is an answer, not an error.
     * Asking again with the same session and names returns the claim that is there, and renews the session. Any server may be asked,
     * also while another one is renewing the session or has an earlier call for the same claim: the wait belongs to the call that asked
     * last. If a call ends without an answer, its claim is cancelled after the server's reattach time (5 s by default), also if it was
     * granted meanwhile, unless the session has asked for it again or has acted on it by then. A grant whose server has died with
     * the call, or whose answer was lost on its way, stays until its session ends.
     * </pre>
     */
    public void acquire(io.tenure.client.v1.AcquireRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.AcquireResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAcquireMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Gives a hold back. Repeating a release that took effect is no error.
     * </pre>
     */
    public void release(io.tenure.client.v1.ReleaseRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ReleaseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReleaseMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Leaves the queue, or gives back what was granted meanwhile: afterwards the session has no claim to exactly these names, and no
     * Acquire for them that a server received before takes effect any more: it is refused (ACQUIRE_CANCELLED). A cancel without an
     * answer may arrive later, and cancel what the session asks for next under these names.
     * </pre>
     */
    public void cancelAcquire(io.tenure.client.v1.CancelAcquireRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.CancelAcquireResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCancelAcquireMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one lock. A lock that nobody ever asked for is an idle lock, not an error.
     * </pre>
     */
    public void getLock(io.tenure.client.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the locks that are held or waited for, in byte order of their names.
     * </pre>
     */
    public void listLocks(io.tenure.client.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends the hold of a lock against its holder's will. For operators; recorded in history.
     * </pre>
     */
    public void evict(io.tenure.client.v1.EvictRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.EvictResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEvictMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Hands a hold to a waiter as planned: in one step, with a higher token, and never with a gap in which nobody holds the
     * lock. The holder is asked to stop, and confirms by releasing; if it does not in time, it holds on. Answered when it is done.
     * </pre>
     */
    public void transfer(io.tenure.client.v1.TransferRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.TransferResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getTransferMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Replaces the metadata of a hold.
     * </pre>
     */
    public void updateClaim(io.tenure.client.v1.UpdateClaimRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.UpdateClaimResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateClaimMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets what claims to a lock have to go by, whether anybody claims it or not. For operators; recorded in history.
     * </pre>
     */
    public void configureLock(io.tenure.client.v1.ConfigureLockRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ConfigureLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getConfigureLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the claims that wait, in the order in which they were made, with those that they wait for.
     * </pre>
     */
    public void listBlocked(io.tenure.client.v1.ListBlockedRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListBlockedResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListBlockedMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists who held a lock, newest first: from when to when, with which token, and why it ended. As far back as history is
     * kept (the server's history_retention), and without those who only waited.
     * </pre>
     */
    public void listHistory(io.tenure.client.v1.ListHistoryRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListHistoryResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListHistoryMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service LockService.
   * <pre>
   * Locks: names that sessions hold or wait for. A lock needs no creation and leaves nothing but history when idle.
   * </pre>
   */
  public static final class LockServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<LockServiceBlockingV2Stub> {
    private LockServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for one or several locks, all or nothing. That another session holds them is an answer, not an error.
     * Asking again with the same session and names returns the claim that is there, and renews the session. Any server may be asked,
     * also while another one is renewing the session or has an earlier call for the same claim: the wait belongs to the call that asked
     * last. If a call ends without an answer, its claim is cancelled after the server's reattach time (5 s by default), also if it was
     * granted meanwhile, unless the session has asked for it again or has acted on it by then. A grant whose server has died with
     * the call, or whose answer was lost on its way, stays until its session ends.
     * </pre>
     */
    public io.tenure.client.v1.AcquireResponse acquire(io.tenure.client.v1.AcquireRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAcquireMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a hold back. Repeating a release that took effect is no error.
     * </pre>
     */
    public io.tenure.client.v1.ReleaseResponse release(io.tenure.client.v1.ReleaseRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReleaseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Leaves the queue, or gives back what was granted meanwhile: afterwards the session has no claim to exactly these names, and no
     * Acquire for them that a server received before takes effect any more: it is refused (ACQUIRE_CANCELLED). A cancel without an
     * answer may arrive later, and cancel what the session asks for next under these names.
     * </pre>
     */
    public io.tenure.client.v1.CancelAcquireResponse cancelAcquire(io.tenure.client.v1.CancelAcquireRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCancelAcquireMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one lock. A lock that nobody ever asked for is an idle lock, not an error.
     * </pre>
     */
    public io.tenure.client.v1.GetLockResponse getLock(io.tenure.client.v1.GetLockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the locks that are held or waited for, in byte order of their names.
     * </pre>
     */
    public io.tenure.client.v1.ListLocksResponse listLocks(io.tenure.client.v1.ListLocksRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends the hold of a lock against its holder's will. For operators; recorded in history.
     * </pre>
     */
    public io.tenure.client.v1.EvictResponse evict(io.tenure.client.v1.EvictRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getEvictMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Hands a hold to a waiter as planned: in one step, with a higher token, and never with a gap in which nobody holds the
     * lock. The holder is asked to stop, and confirms by releasing; if it does not in time, it holds on. Answered when it is done.
     * </pre>
     */
    public io.tenure.client.v1.TransferResponse transfer(io.tenure.client.v1.TransferRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getTransferMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the metadata of a hold.
     * </pre>
     */
    public io.tenure.client.v1.UpdateClaimResponse updateClaim(io.tenure.client.v1.UpdateClaimRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateClaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets what claims to a lock have to go by, whether anybody claims it or not. For operators; recorded in history.
     * </pre>
     */
    public io.tenure.client.v1.ConfigureLockResponse configureLock(io.tenure.client.v1.ConfigureLockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getConfigureLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the claims that wait, in the order in which they were made, with those that they wait for.
     * </pre>
     */
    public io.tenure.client.v1.ListBlockedResponse listBlocked(io.tenure.client.v1.ListBlockedRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListBlockedMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists who held a lock, newest first: from when to when, with which token, and why it ended. As far back as history is
     * kept (the server's history_retention), and without those who only waited.
     * </pre>
     */
    public io.tenure.client.v1.ListHistoryResponse listHistory(io.tenure.client.v1.ListHistoryRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListHistoryMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service LockService.
   * <pre>
   * Locks: names that sessions hold or wait for. A lock needs no creation and leaves nothing but history when idle.
   * </pre>
   */
  public static final class LockServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<LockServiceBlockingStub> {
    private LockServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for one or several locks, all or nothing. That another session holds them is an answer, not an error.
     * Asking again with the same session and names returns the claim that is there, and renews the session. Any server may be asked,
     * also while another one is renewing the session or has an earlier call for the same claim: the wait belongs to the call that asked
     * last. If a call ends without an answer, its claim is cancelled after the server's reattach time (5 s by default), also if it was
     * granted meanwhile, unless the session has asked for it again or has acted on it by then. A grant whose server has died with
     * the call, or whose answer was lost on its way, stays until its session ends.
     * </pre>
     */
    public io.tenure.client.v1.AcquireResponse acquire(io.tenure.client.v1.AcquireRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAcquireMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a hold back. Repeating a release that took effect is no error.
     * </pre>
     */
    public io.tenure.client.v1.ReleaseResponse release(io.tenure.client.v1.ReleaseRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReleaseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Leaves the queue, or gives back what was granted meanwhile: afterwards the session has no claim to exactly these names, and no
     * Acquire for them that a server received before takes effect any more: it is refused (ACQUIRE_CANCELLED). A cancel without an
     * answer may arrive later, and cancel what the session asks for next under these names.
     * </pre>
     */
    public io.tenure.client.v1.CancelAcquireResponse cancelAcquire(io.tenure.client.v1.CancelAcquireRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCancelAcquireMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one lock. A lock that nobody ever asked for is an idle lock, not an error.
     * </pre>
     */
    public io.tenure.client.v1.GetLockResponse getLock(io.tenure.client.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the locks that are held or waited for, in byte order of their names.
     * </pre>
     */
    public io.tenure.client.v1.ListLocksResponse listLocks(io.tenure.client.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends the hold of a lock against its holder's will. For operators; recorded in history.
     * </pre>
     */
    public io.tenure.client.v1.EvictResponse evict(io.tenure.client.v1.EvictRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEvictMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Hands a hold to a waiter as planned: in one step, with a higher token, and never with a gap in which nobody holds the
     * lock. The holder is asked to stop, and confirms by releasing; if it does not in time, it holds on. Answered when it is done.
     * </pre>
     */
    public io.tenure.client.v1.TransferResponse transfer(io.tenure.client.v1.TransferRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getTransferMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Replaces the metadata of a hold.
     * </pre>
     */
    public io.tenure.client.v1.UpdateClaimResponse updateClaim(io.tenure.client.v1.UpdateClaimRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateClaimMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets what claims to a lock have to go by, whether anybody claims it or not. For operators; recorded in history.
     * </pre>
     */
    public io.tenure.client.v1.ConfigureLockResponse configureLock(io.tenure.client.v1.ConfigureLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getConfigureLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the claims that wait, in the order in which they were made, with those that they wait for.
     * </pre>
     */
    public io.tenure.client.v1.ListBlockedResponse listBlocked(io.tenure.client.v1.ListBlockedRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListBlockedMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists who held a lock, newest first: from when to when, with which token, and why it ended. As far back as history is
     * kept (the server's history_retention), and without those who only waited.
     * </pre>
     */
    public io.tenure.client.v1.ListHistoryResponse listHistory(io.tenure.client.v1.ListHistoryRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListHistoryMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service LockService.
   * <pre>
   * Locks: names that sessions hold or wait for. A lock needs no creation and leaves nothing but history when idle.
   * </pre>
   */
  public static final class LockServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<LockServiceFutureStub> {
    private LockServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for one or several locks, all or nothing. That another session holds them is an answer, not an error.
     * Asking again with the same session and names returns the claim that is there, and renews the session. Any server may be asked,
     * also while another one is renewing the session or has an earlier call for the same claim: the wait belongs to the call that asked
     * last. If a call ends without an answer, its claim is cancelled after the server's reattach time (5 s by default), also if it was
     * granted meanwhile, unless the session has asked for it again or has acted on it by then. A grant whose server has died with
     * the call, or whose answer was lost on its way, stays until its session ends.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.AcquireResponse> acquire(
        io.tenure.client.v1.AcquireRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAcquireMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Gives a hold back. Repeating a release that took effect is no error.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ReleaseResponse> release(
        io.tenure.client.v1.ReleaseRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReleaseMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Leaves the queue, or gives back what was granted meanwhile: afterwards the session has no claim to exactly these names, and no
     * Acquire for them that a server received before takes effect any more: it is refused (ACQUIRE_CANCELLED). A cancel without an
     * answer may arrive later, and cancel what the session asks for next under these names.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.CancelAcquireResponse> cancelAcquire(
        io.tenure.client.v1.CancelAcquireRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCancelAcquireMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one lock. A lock that nobody ever asked for is an idle lock, not an error.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.GetLockResponse> getLock(
        io.tenure.client.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the locks that are held or waited for, in byte order of their names.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ListLocksResponse> listLocks(
        io.tenure.client.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends the hold of a lock against its holder's will. For operators; recorded in history.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.EvictResponse> evict(
        io.tenure.client.v1.EvictRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEvictMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Hands a hold to a waiter as planned: in one step, with a higher token, and never with a gap in which nobody holds the
     * lock. The holder is asked to stop, and confirms by releasing; if it does not in time, it holds on. Answered when it is done.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.TransferResponse> transfer(
        io.tenure.client.v1.TransferRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getTransferMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Replaces the metadata of a hold.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.UpdateClaimResponse> updateClaim(
        io.tenure.client.v1.UpdateClaimRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateClaimMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets what claims to a lock have to go by, whether anybody claims it or not. For operators; recorded in history.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ConfigureLockResponse> configureLock(
        io.tenure.client.v1.ConfigureLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getConfigureLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the claims that wait, in the order in which they were made, with those that they wait for.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ListBlockedResponse> listBlocked(
        io.tenure.client.v1.ListBlockedRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListBlockedMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists who held a lock, newest first: from when to when, with which token, and why it ended. As far back as history is
     * kept (the server's history_retention), and without those who only waited.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ListHistoryResponse> listHistory(
        io.tenure.client.v1.ListHistoryRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListHistoryMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ACQUIRE = 0;
  private static final int METHODID_RELEASE = 1;
  private static final int METHODID_CANCEL_ACQUIRE = 2;
  private static final int METHODID_GET_LOCK = 3;
  private static final int METHODID_LIST_LOCKS = 4;
  private static final int METHODID_EVICT = 5;
  private static final int METHODID_TRANSFER = 6;
  private static final int METHODID_UPDATE_CLAIM = 7;
  private static final int METHODID_CONFIGURE_LOCK = 8;
  private static final int METHODID_LIST_BLOCKED = 9;
  private static final int METHODID_LIST_HISTORY = 10;

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
        case METHODID_ACQUIRE:
          serviceImpl.acquire((io.tenure.client.v1.AcquireRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.AcquireResponse>) responseObserver);
          break;
        case METHODID_RELEASE:
          serviceImpl.release((io.tenure.client.v1.ReleaseRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ReleaseResponse>) responseObserver);
          break;
        case METHODID_CANCEL_ACQUIRE:
          serviceImpl.cancelAcquire((io.tenure.client.v1.CancelAcquireRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.CancelAcquireResponse>) responseObserver);
          break;
        case METHODID_GET_LOCK:
          serviceImpl.getLock((io.tenure.client.v1.GetLockRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.GetLockResponse>) responseObserver);
          break;
        case METHODID_LIST_LOCKS:
          serviceImpl.listLocks((io.tenure.client.v1.ListLocksRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ListLocksResponse>) responseObserver);
          break;
        case METHODID_EVICT:
          serviceImpl.evict((io.tenure.client.v1.EvictRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.EvictResponse>) responseObserver);
          break;
        case METHODID_TRANSFER:
          serviceImpl.transfer((io.tenure.client.v1.TransferRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.TransferResponse>) responseObserver);
          break;
        case METHODID_UPDATE_CLAIM:
          serviceImpl.updateClaim((io.tenure.client.v1.UpdateClaimRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.UpdateClaimResponse>) responseObserver);
          break;
        case METHODID_CONFIGURE_LOCK:
          serviceImpl.configureLock((io.tenure.client.v1.ConfigureLockRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ConfigureLockResponse>) responseObserver);
          break;
        case METHODID_LIST_BLOCKED:
          serviceImpl.listBlocked((io.tenure.client.v1.ListBlockedRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ListBlockedResponse>) responseObserver);
          break;
        case METHODID_LIST_HISTORY:
          serviceImpl.listHistory((io.tenure.client.v1.ListHistoryRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ListHistoryResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getAcquireMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.AcquireRequest,
              io.tenure.client.v1.AcquireResponse>(
                service, METHODID_ACQUIRE)))
        .addMethod(
          getReleaseMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ReleaseRequest,
              io.tenure.client.v1.ReleaseResponse>(
                service, METHODID_RELEASE)))
        .addMethod(
          getCancelAcquireMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.CancelAcquireRequest,
              io.tenure.client.v1.CancelAcquireResponse>(
                service, METHODID_CANCEL_ACQUIRE)))
        .addMethod(
          getGetLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.GetLockRequest,
              io.tenure.client.v1.GetLockResponse>(
                service, METHODID_GET_LOCK)))
        .addMethod(
          getListLocksMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ListLocksRequest,
              io.tenure.client.v1.ListLocksResponse>(
                service, METHODID_LIST_LOCKS)))
        .addMethod(
          getEvictMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.EvictRequest,
              io.tenure.client.v1.EvictResponse>(
                service, METHODID_EVICT)))
        .addMethod(
          getTransferMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.TransferRequest,
              io.tenure.client.v1.TransferResponse>(
                service, METHODID_TRANSFER)))
        .addMethod(
          getUpdateClaimMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.UpdateClaimRequest,
              io.tenure.client.v1.UpdateClaimResponse>(
                service, METHODID_UPDATE_CLAIM)))
        .addMethod(
          getConfigureLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ConfigureLockRequest,
              io.tenure.client.v1.ConfigureLockResponse>(
                service, METHODID_CONFIGURE_LOCK)))
        .addMethod(
          getListBlockedMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ListBlockedRequest,
              io.tenure.client.v1.ListBlockedResponse>(
                service, METHODID_LIST_BLOCKED)))
        .addMethod(
          getListHistoryMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ListHistoryRequest,
              io.tenure.client.v1.ListHistoryResponse>(
                service, METHODID_LIST_HISTORY)))
        .build();
  }

  private static abstract class LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    LockServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.client.v1.LockOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("LockService");
    }
  }

  private static final class LockServiceFileDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier {
    LockServiceFileDescriptorSupplier() {}
  }

  private static final class LockServiceMethodDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    LockServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (LockServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new LockServiceFileDescriptorSupplier())
              .addMethod(getAcquireMethod())
              .addMethod(getReleaseMethod())
              .addMethod(getCancelAcquireMethod())
              .addMethod(getGetLockMethod())
              .addMethod(getListLocksMethod())
              .addMethod(getEvictMethod())
              .addMethod(getTransferMethod())
              .addMethod(getUpdateClaimMethod())
              .addMethod(getConfigureLockMethod())
              .addMethod(getListBlockedMethod())
              .addMethod(getListHistoryMethod())
              .build();
        }
      }
    }
    return result;
  }
}
