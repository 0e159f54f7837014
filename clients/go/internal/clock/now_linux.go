package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the present moment. The runtime's monotonic clock stops in suspend, and a process that was suspended for its
// TTL would consider itself valid.
func Now() Moment {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		// Every Linux that Go runs on has this clock.
		panic("tenure: CLOCK_BOOTTIME: " + err.Error())
	}
	return Moment(time.Duration(now.Nano()))
}
