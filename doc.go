// Package rowcast serves a declared schema as a REST data API over an embedded
// SQLite file, and turns every committed row change into a live stream that
// shows each subscriber a row only as that subscriber may read it.
//
// The rowcast command is this package behind flags. To embed it:
//
//	srv, err := rowcast.Open(ctx, rowcast.Config{File: "rowcast.yaml"})
//	if err != nil {
//		return err // every refusal, as file:line:col: message
//	}
//	go srv.Run(ctx)          // tails, retention; returns when ctx is done and all is closed
//	mux.Handle("/", srv.Handler())
//
// or let Serve do both on a listener of your own.
//
// Config.Operations does custom operations in Go, each in a transaction of its
// own; Config.Transports are told of what channels are told, after the commit.
package rowcast
