// Command receive is the least that a receiver of deliveries can be, to measure
// what sends them: it reads each request whole, remembers its id and when it
// came, and answers 204. It verifies nothing. What it does with a POST stands in
// the first part of its path:
//
//	POST /accept/{name}   is answered 204
//	POST /late/{name}     is answered 204 after ten seconds
//	POST /fail/{name}     is answered 500
//	POST /hole/{name}     is not answered
//	GET  /counts          how much was accepted
//	GET  /arrivals        what was accepted, with names, subjects and times
//	GET  /hold            from now on nothing is answered
//	GET  /go              ends that, and answers all that waits
//
// Only what is accepted is remembered. Each connection has a goroutine of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *listen)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "receive:", err)
		os.Exit(1)
	}
}

// run receives until ctx ends.
func run(ctx context.Context, listen string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return serve(ctx, listener)
}

// serve receives on a listener until ctx ends, and waits for its connections.
func serve(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	r := newReceived()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		connections.Go(func() {
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			defer func() { _ = conn.Close() }()
			newExchange(conn, r).run(ctx)
		})
	}
}
