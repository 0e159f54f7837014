package tenure

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"
)

// A fresh UUID, version 7: milliseconds of the wall clock, for people, and 74 random bits.
func freshID() string {
	var id [16]byte
	_, _ = rand.Read(id[:])
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(time.Now().UnixMilli()))
	copy(id[:6], stamp[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
