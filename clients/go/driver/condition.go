package main

import (
	"context"
	"sync"
)

// State that requests wait for.
type condition struct {
	mu      sync.Mutex
	changed chan struct{}
}

// Changes it.
func (c *condition) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Waits until it holds.
func (c *condition) await(ctx context.Context, holds func() bool) error {
	for {
		c.mu.Lock()
		if holds() {
			c.mu.Unlock()
			return nil
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
