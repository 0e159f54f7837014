/** The client of Tenure, a lock and leadership service. */
module io.tenure.client {
    requires transitive org.jspecify;
    // For the fence only.
    requires static transitive java.sql;
    requires com.google.protobuf;
    requires io.grpc;
    requires io.grpc.netty.shaded;
    requires io.grpc.protobuf;
    requires io.grpc.stub;
    requires com.google.common;

    exports io.tenure.client;
    exports io.tenure.client.fence;
    // What protobuf reads by reflection.
    exports io.tenure.client.v1 to
            com.google.protobuf;
}
