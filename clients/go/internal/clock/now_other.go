//go:build !linux

package clock

import "time"

var start = time.Now()

// Now is the present moment, on a platform whose clocks may stop while the machine is suspended.
func Now() Moment { return Moment(time.Since(start)) }
