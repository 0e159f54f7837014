module github.com/tenure-lock/tenure/tests/tools/xtask/gozip

go 1.24.0

require golang.org/x/mod v0.30.0
