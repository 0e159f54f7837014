package io.tenure.client.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Groups: named sets of members with a leader, one shared config value and an assignment for each member. A group needs no
 * creation, and leaves nothing but history when it has neither members nor a config. Its name has nothing to do with a lock
 * of the same name.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class GroupServiceGrpc {

  private GroupServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "tenure.v1.GroupService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.JoinGroupRequest,
      io.tenure.client.v1.JoinGroupResponse> getJoinGroupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "JoinGroup",
      requestType = io.tenure.client.v1.JoinGroupRequest.class,
      responseType = io.tenure.client.v1.JoinGroupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.JoinGroupRequest,
      io.tenure.client.v1.JoinGroupResponse> getJoinGroupMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.JoinGroupRequest, io.tenure.client.v1.JoinGroupResponse> getJoinGroupMethod;
    if ((getJoinGroupMethod = GroupServiceGrpc.getJoinGroupMethod) == null) {
      synchronized (GroupServiceGrpc.class) {
        if ((getJoinGroupMethod = GroupServiceGrpc.getJoinGroupMethod) == null) {
          GroupServiceGrpc.getJoinGroupMethod = getJoinGroupMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.JoinGroupRequest, io.tenure.client.v1.JoinGroupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "JoinGroup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.JoinGroupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.JoinGroupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GroupServiceMethodDescriptorSupplier("JoinGroup"))
              .build();
        }
      }
    }
    return getJoinGroupMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.LeaveGroupRequest,
      io.tenure.client.v1.LeaveGroupResponse> getLeaveGroupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "LeaveGroup",
      requestType = io.tenure.client.v1.LeaveGroupRequest.class,
      responseType = io.tenure.client.v1.LeaveGroupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.LeaveGroupRequest,
      io.tenure.client.v1.LeaveGroupResponse> getLeaveGroupMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.LeaveGroupRequest, io.tenure.client.v1.LeaveGroupResponse> getLeaveGroupMethod;
    if ((getLeaveGroupMethod = GroupServiceGrpc.getLeaveGroupMethod) == null) {
      synchronized (GroupServiceGrpc.class) {
        if ((getLeaveGroupMethod = GroupServiceGrpc.getLeaveGroupMethod) == null) {
          GroupServiceGrpc.getLeaveGroupMethod = getLeaveGroupMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.LeaveGroupRequest, io.tenure.client.v1.LeaveGroupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "LeaveGroup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.LeaveGroupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.LeaveGroupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GroupServiceMethodDescriptorSupplier("LeaveGroup"))
              .build();
        }
      }
    }
    return getLeaveGroupMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ConfigureGroupRequest,
      io.tenure.client.v1.ConfigureGroupResponse> getConfigureGroupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ConfigureGroup",
      requestType = io.tenure.client.v1.ConfigureGroupRequest.class,
      responseType = io.tenure.client.v1.ConfigureGroupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ConfigureGroupRequest,
      io.tenure.client.v1.ConfigureGroupResponse> getConfigureGroupMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ConfigureGroupRequest, io.tenure.client.v1.ConfigureGroupResponse> getConfigureGroupMethod;
    if ((getConfigureGroupMethod = GroupServiceGrpc.getConfigureGroupMethod) == null) {
      synchronized (GroupServiceGrpc.class) {
        if ((getConfigureGroupMethod = GroupServiceGrpc.getConfigureGroupMethod) == null) {
          GroupServiceGrpc.getConfigureGroupMethod = getConfigureGroupMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ConfigureGroupRequest, io.tenure.client.v1.ConfigureGroupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ConfigureGroup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ConfigureGroupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ConfigureGroupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GroupServiceMethodDescriptorSupplier("ConfigureGroup"))
              .build();
        }
      }
    }
    return getConfigureGroupMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.AssignGroupRequest,
      io.tenure.client.v1.AssignGroupResponse> getAssignGroupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "AssignGroup",
      requestType = io.tenure.client.v1.AssignGroupRequest.class,
      responseType = io.tenure.client.v1.AssignGroupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.AssignGroupRequest,
      io.tenure.client.v1.AssignGroupResponse> getAssignGroupMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.AssignGroupRequest, io.tenure.client.v1.AssignGroupResponse> getAssignGroupMethod;
    if ((getAssignGroupMethod = GroupServiceGrpc.getAssignGroupMethod) == null) {
      synchronized (GroupServiceGrpc.class) {
        if ((getAssignGroupMethod = GroupServiceGrpc.getAssignGroupMethod) == null) {
          GroupServiceGrpc.getAssignGroupMethod = getAssignGroupMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.AssignGroupRequest, io.tenure.client.v1.AssignGroupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "AssignGroup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.AssignGroupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.AssignGroupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GroupServiceMethodDescriptorSupplier("AssignGroup"))
              .build();
        }
      }
    }
    return getAssignGroupMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.GetGroupRequest,
      io.tenure.client.v1.GetGroupResponse> getGetGroupMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetGroup",
      requestType = io.tenure.client.v1.GetGroupRequest.class,
      responseType = io.tenure.client.v1.GetGroupResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.GetGroupRequest,
      io.tenure.client.v1.GetGroupResponse> getGetGroupMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.GetGroupRequest, io.tenure.client.v1.GetGroupResponse> getGetGroupMethod;
    if ((getGetGroupMethod = GroupServiceGrpc.getGetGroupMethod) == null) {
      synchronized (GroupServiceGrpc.class) {
        if ((getGetGroupMethod = GroupServiceGrpc.getGetGroupMethod) == null) {
          GroupServiceGrpc.getGetGroupMethod = getGetGroupMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.GetGroupRequest, io.tenure.client.v1.GetGroupResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetGroup"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.GetGroupRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.GetGroupResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GroupServiceMethodDescriptorSupplier("GetGroup"))
              .build();
        }
      }
    }
    return getGetGroupMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.tenure.client.v1.ListGroupsRequest,
      io.tenure.client.v1.ListGroupsResponse> getListGroupsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListGroups",
      requestType = io.tenure.client.v1.ListGroupsRequest.class,
      responseType = io.tenure.client.v1.ListGroupsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.tenure.client.v1.ListGroupsRequest,
      io.tenure.client.v1.ListGroupsResponse> getListGroupsMethod() {
    io.grpc.MethodDescriptor<io.tenure.client.v1.ListGroupsRequest, io.tenure.client.v1.ListGroupsResponse> getListGroupsMethod;
    if ((getListGroupsMethod = GroupServiceGrpc.getListGroupsMethod) == null) {
      synchronized (GroupServiceGrpc.class) {
        if ((getListGroupsMethod = GroupServiceGrpc.getListGroupsMethod) == null) {
          GroupServiceGrpc.getListGroupsMethod = getListGroupsMethod =
              io.grpc.MethodDescriptor.<io.tenure.client.v1.ListGroupsRequest, io.tenure.client.v1.ListGroupsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListGroups"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListGroupsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.tenure.client.v1.ListGroupsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GroupServiceMethodDescriptorSupplier("ListGroups"))
              .build();
        }
      }
    }
    return getListGroupsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static GroupServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GroupServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GroupServiceStub>() {
        @java.lang.Override
        public GroupServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GroupServiceStub(channel, callOptions);
        }
      };
    return GroupServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static GroupServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GroupServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GroupServiceBlockingV2Stub>() {
        @java.lang.Override
        public GroupServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GroupServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return GroupServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static GroupServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GroupServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GroupServiceBlockingStub>() {
        @java.lang.Override
        public GroupServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GroupServiceBlockingStub(channel, callOptions);
        }
      };
    return GroupServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static GroupServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GroupServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GroupServiceFutureStub>() {
        @java.lang.Override
        public GroupServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GroupServiceFutureStub(channel, callOptions);
        }
      };
    return GroupServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Groups: named sets of members with a leader, one shared config value and an assignment for each member. A group needs no
   * creation, and leaves nothing but history when it has neither members nor a config. Its name has nothing to do with a lock
   * of the same name.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Makes a session a member until it leaves or ends. Asking again returns the membership that is there, and renews the
     * session if a ttl is given. LIMIT_REACHED with more than 1000 members in one group, 100 groups of one session, or 10000
     * groups in one namespace.
     * </pre>
     */
    default void joinGroup(io.tenure.client.v1.JoinGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.JoinGroupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getJoinGroupMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends a membership. Repeating a leave that took effect is no error.
     * </pre>
     */
    default void leaveGroup(io.tenure.client.v1.LeaveGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.LeaveGroupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getLeaveGroupMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets or clears the value that a group shares, by compare-and-set if wanted. Needs neither a session nor members.
     * </pre>
     */
    default void configureGroup(io.tenure.client.v1.ConfigureGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ConfigureGroupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getConfigureGroupMethod(), responseObserver);
    }

    /**
     * <pre>
     * Assigns something to every member at once. Only the leader may, and only as long as the group is as the assignments were
     * computed for. Repeating what took effect is no error.
     * </pre>
     */
    default void assignGroup(io.tenure.client.v1.AssignGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.AssignGroupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAssignGroupMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reads one group. A group that nobody ever joined is an empty group, not an error.
     * </pre>
     */
    default void getGroup(io.tenure.client.v1.GetGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.GetGroupResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetGroupMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the groups that have members or a config, in byte order of their names.
     * </pre>
     */
    default void listGroups(io.tenure.client.v1.ListGroupsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListGroupsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListGroupsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service GroupService.
   * <pre>
   * Groups: named sets of members with a leader, one shared config value and an assignment for each member. A group needs no
   * creation, and leaves nothing but history when it has neither members nor a config. Its name has nothing to do with a lock
   * of the same name.
   * </pre>
   */
  public static abstract class GroupServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return GroupServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service GroupService.
   * <pre>
   * Groups: named sets of members with a leader, one shared config value and an assignment for each member. A group needs no
   * creation, and leaves nothing but history when it has neither members nor a config. Its name has nothing to do with a lock
   * of the same name.
   * </pre>
   */
  public static final class GroupServiceStub
      extends io.grpc.stub.AbstractAsyncStub<GroupServiceStub> {
    private GroupServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GroupServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GroupServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session a member until it leaves or ends. Asking again returns the membership that is there, and renews the
     * session if a ttl is given. LIMIT_REACHED with more than 1000 members in one group, 100 groups of one session, or 10000
     * groups in one namespace.
     * </pre>
     */
    public void joinGroup(io.tenure.client.v1.JoinGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.JoinGroupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getJoinGroupMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends a membership. Repeating a leave that took effect is no error.
     * </pre>
     */
    public void leaveGroup(io.tenure.client.v1.LeaveGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.LeaveGroupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getLeaveGroupMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets or clears the value that a group shares, by compare-and-set if wanted. Needs neither a session nor members.
     * </pre>
     */
    public void configureGroup(io.tenure.client.v1.ConfigureGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ConfigureGroupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getConfigureGroupMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Assigns something to every member at once. Only the leader may, and only as long as the group is as the assignments were
     * computed for. Repeating what took effect is no error.
     * </pre>
     */
    public void assignGroup(io.tenure.client.v1.AssignGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.AssignGroupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAssignGroupMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reads one group. A group that nobody ever joined is an empty group, not an error.
     * </pre>
     */
    public void getGroup(io.tenure.client.v1.GetGroupRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.GetGroupResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetGroupMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the groups that have members or a config, in byte order of their names.
     * </pre>
     */
    public void listGroups(io.tenure.client.v1.ListGroupsRequest request,
        io.grpc.stub.StreamObserver<io.tenure.client.v1.ListGroupsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListGroupsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service GroupService.
   * <pre>
   * Groups: named sets of members with a leader, one shared config value and an assignment for each member. A group needs no
   * creation, and leaves nothing but history when it has neither members nor a config. Its name has nothing to do with a lock
   * of the same name.
   * </pre>
   */
  public static final class GroupServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<GroupServiceBlockingV2Stub> {
    private GroupServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GroupServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GroupServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session a member until it leaves or ends. Asking again returns the membership that is there, and renews the
     * session if a ttl is given. LIMIT_REACHED with more than 1000 members in one group, 100 groups of one session, or 10000
     * groups in one namespace.
     * </pre>
     */
    public io.tenure.client.v1.JoinGroupResponse joinGroup(io.tenure.client.v1.JoinGroupRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getJoinGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a membership. Repeating a leave that took effect is no error.
     * </pre>
     */
    public io.tenure.client.v1.LeaveGroupResponse leaveGroup(io.tenure.client.v1.LeaveGroupRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getLeaveGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets or clears the value that a group shares, by compare-and-set if wanted. Needs neither a session nor members.
     * </pre>
     */
    public io.tenure.client.v1.ConfigureGroupResponse configureGroup(io.tenure.client.v1.ConfigureGroupRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getConfigureGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Assigns something to every member at once. Only the leader may, and only as long as the group is as the assignments were
     * computed for. Repeating what took effect is no error.
     * </pre>
     */
    public io.tenure.client.v1.AssignGroupResponse assignGroup(io.tenure.client.v1.AssignGroupRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAssignGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one group. A group that nobody ever joined is an empty group, not an error.
     * </pre>
     */
    public io.tenure.client.v1.GetGroupResponse getGroup(io.tenure.client.v1.GetGroupRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the groups that have members or a config, in byte order of their names.
     * </pre>
     */
    public io.tenure.client.v1.ListGroupsResponse listGroups(io.tenure.client.v1.ListGroupsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListGroupsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service GroupService.
   * <pre>
   * Groups: named sets of members with a leader, one shared config value and an assignment for each member. A group needs no
   * creation, and leaves nothing but history when it has neither members nor a config. Its name has nothing to do with a lock
   * of the same name.
   * </pre>
   */
  public static final class GroupServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<GroupServiceBlockingStub> {
    private GroupServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GroupServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GroupServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session a member until it leaves or ends. Asking again returns the membership that is there, and renews the
     * session if a ttl is given. LIMIT_REACHED with more than 1000 members in one group, 100 groups of one session, or 10000
     * groups in one namespace.
     * </pre>
     */
    public io.tenure.client.v1.JoinGroupResponse joinGroup(io.tenure.client.v1.JoinGroupRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getJoinGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a membership. Repeating a leave that took effect is no error.
     * </pre>
     */
    public io.tenure.client.v1.LeaveGroupResponse leaveGroup(io.tenure.client.v1.LeaveGroupRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getLeaveGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets or clears the value that a group shares, by compare-and-set if wanted. Needs neither a session nor members.
     * </pre>
     */
    public io.tenure.client.v1.ConfigureGroupResponse configureGroup(io.tenure.client.v1.ConfigureGroupRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getConfigureGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Assigns something to every member at once. Only the leader may, and only as long as the group is as the assignments were
     * computed for. Repeating what took effect is no error.
     * </pre>
     */
    public io.tenure.client.v1.AssignGroupResponse assignGroup(io.tenure.client.v1.AssignGroupRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAssignGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reads one group. A group that nobody ever joined is an empty group, not an error.
     * </pre>
     */
    public io.tenure.client.v1.GetGroupResponse getGroup(io.tenure.client.v1.GetGroupRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetGroupMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the groups that have members or a config, in byte order of their names.
     * </pre>
     */
    public io.tenure.client.v1.ListGroupsResponse listGroups(io.tenure.client.v1.ListGroupsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListGroupsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service GroupService.
   * <pre>
   * Groups: named sets of members with a leader, one shared config value and an assignment for each member. A group needs no
   * creation, and leaves nothing but history when it has neither members nor a config. Its name has nothing to do with a lock
   * of the same name.
   * </pre>
   */
  public static final class GroupServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<GroupServiceFutureStub> {
    private GroupServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GroupServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GroupServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session a member until it leaves or ends. Asking again returns the membership that is there, and renews the
     * session if a ttl is given. LIMIT_REACHED with more than 1000 members in one group, 100 groups of one session, or 10000
     * groups in one namespace.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.JoinGroupResponse> joinGroup(
        io.tenure.client.v1.JoinGroupRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getJoinGroupMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends a membership. Repeating a leave that took effect is no error.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.LeaveGroupResponse> leaveGroup(
        io.tenure.client.v1.LeaveGroupRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getLeaveGroupMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets or clears the value that a group shares, by compare-and-set if wanted. Needs neither a session nor members.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ConfigureGroupResponse> configureGroup(
        io.tenure.client.v1.ConfigureGroupRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getConfigureGroupMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Assigns something to every member at once. Only the leader may, and only as long as the group is as the assignments were
     * computed for. Repeating what took effect is no error.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.AssignGroupResponse> assignGroup(
        io.tenure.client.v1.AssignGroupRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAssignGroupMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reads one group. A group that nobody ever joined is an empty group, not an error.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.GetGroupResponse> getGroup(
        io.tenure.client.v1.GetGroupRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetGroupMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the groups that have members or a config, in byte order of their names.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.tenure.client.v1.ListGroupsResponse> listGroups(
        io.tenure.client.v1.ListGroupsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListGroupsMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_JOIN_GROUP = 0;
  private static final int METHODID_LEAVE_GROUP = 1;
  private static final int METHODID_CONFIGURE_GROUP = 2;
  private static final int METHODID_ASSIGN_GROUP = 3;
  private static final int METHODID_GET_GROUP = 4;
  private static final int METHODID_LIST_GROUPS = 5;

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
        case METHODID_JOIN_GROUP:
          serviceImpl.joinGroup((io.tenure.client.v1.JoinGroupRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.JoinGroupResponse>) responseObserver);
          break;
        case METHODID_LEAVE_GROUP:
          serviceImpl.leaveGroup((io.tenure.client.v1.LeaveGroupRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.LeaveGroupResponse>) responseObserver);
          break;
        case METHODID_CONFIGURE_GROUP:
          serviceImpl.configureGroup((io.tenure.client.v1.ConfigureGroupRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ConfigureGroupResponse>) responseObserver);
          break;
        case METHODID_ASSIGN_GROUP:
          serviceImpl.assignGroup((io.tenure.client.v1.AssignGroupRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.AssignGroupResponse>) responseObserver);
          break;
        case METHODID_GET_GROUP:
          serviceImpl.getGroup((io.tenure.client.v1.GetGroupRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.GetGroupResponse>) responseObserver);
          break;
        case METHODID_LIST_GROUPS:
          serviceImpl.listGroups((io.tenure.client.v1.ListGroupsRequest) request,
              (io.grpc.stub.StreamObserver<io.tenure.client.v1.ListGroupsResponse>) responseObserver);
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
          getJoinGroupMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.JoinGroupRequest,
              io.tenure.client.v1.JoinGroupResponse>(
                service, METHODID_JOIN_GROUP)))
        .addMethod(
          getLeaveGroupMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.LeaveGroupRequest,
              io.tenure.client.v1.LeaveGroupResponse>(
                service, METHODID_LEAVE_GROUP)))
        .addMethod(
          getConfigureGroupMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ConfigureGroupRequest,
              io.tenure.client.v1.ConfigureGroupResponse>(
                service, METHODID_CONFIGURE_GROUP)))
        .addMethod(
          getAssignGroupMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.AssignGroupRequest,
              io.tenure.client.v1.AssignGroupResponse>(
                service, METHODID_ASSIGN_GROUP)))
        .addMethod(
          getGetGroupMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.GetGroupRequest,
              io.tenure.client.v1.GetGroupResponse>(
                service, METHODID_GET_GROUP)))
        .addMethod(
          getListGroupsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.tenure.client.v1.ListGroupsRequest,
              io.tenure.client.v1.ListGroupsResponse>(
                service, METHODID_LIST_GROUPS)))
        .build();
  }

  private static abstract class GroupServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    GroupServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.tenure.client.v1.GroupOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("GroupService");
    }
  }

  private static final class GroupServiceFileDescriptorSupplier
      extends GroupServiceBaseDescriptorSupplier {
    GroupServiceFileDescriptorSupplier() {}
  }

  private static final class GroupServiceMethodDescriptorSupplier
      extends GroupServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    GroupServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (GroupServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new GroupServiceFileDescriptorSupplier())
              .addMethod(getJoinGroupMethod())
              .addMethod(getLeaveGroupMethod())
              .addMethod(getConfigureGroupMethod())
              .addMethod(getAssignGroupMethod())
              .addMethod(getGetGroupMethod())
              .addMethod(getListGroupsMethod())
              .build();
        }
      }
    }
    return result;
  }
}
