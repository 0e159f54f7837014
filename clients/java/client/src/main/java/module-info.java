/** The client of Tenure, a lock and leadership service. */
module io.tenure.client {
    requires transitive org.jspecify;
    // For the fence only.
    requires static transitive java.sql;
    requires transitive com.google.protobuf;
    requires transitive io.grpc;
    requires io.grpc.netty.shaded;
    requires io.grpc.protobuf;
    requires io.grpc.stub;
    requires com.google.common;

    exports io.tenure.client;
    exports io.tenure.client.fence;
    exports io.tenure.client.v1;
    // What protobuf reads by reflection.
    exports io.tenure.client.status to
            com.google.protobuf;
}
