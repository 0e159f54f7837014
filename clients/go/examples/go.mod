module github.com/tenure-lock/tenure/clients/go/examples

go 1.24.0

require github.com/tenure-lock/tenure/clients/go v0.0.0

require (
	github.com/mattn/go-sqlite3 v1.14.53
	golang.org/x/net v0.48.0 // indirect
	golang.org/x/sys v0.39.0 // indirect
	golang.org/x/text v0.32.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217 // indirect
	google.golang.org/grpc v1.79.3 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

replace github.com/tenure-lock/tenure/clients/go => ../
