// Package drive loads a server as cheaply as it can, because it shares the
// machine with what it measures: a Swarm of raw connections that read event
// streams and keep of each frame only what a figure needs, and Writers that
// post rows over kept-alive connections.
//
// A Swarm starts one goroutine a stream, and Close waits for all of them. The
// package imports nothing of rowcast.
package drive
