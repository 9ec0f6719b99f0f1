package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// childArgument makes a program that calls Main a writer and nothing else.
const childArgument = "write-for-parent"

// WriteApart is Write in a process of its own: beside a swarm that reads, a
// writer would wait for its turn among a thousand readers, and the server would
// seem slow. The program must call Main first thing in main.
func WriteApart(ctx context.Context, writing Writing) (Written, error) {
	program, err := os.Executable()
	if err != nil {
		return Written{}, err
	}
	order, err := json.Marshal(writing)
	if err != nil {
		return Written{}, err
	}
	var answer, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, childArgument) // #nosec G204 -- this program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), &answer, &complaint
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return Written{}, fmt.Errorf("writers: %w: %s", err, bytes.TrimSpace(complaint.Bytes()))
	}
	var written Written
	if err := json.Unmarshal(answer.Bytes(), &written); err != nil {
		return Written{}, fmt.Errorf("writers: %w", err)
	}
	return written, nil
}

// child reports whether args ask for a writer, and if so does its work.
func child(ctx context.Context, args []string, in io.Reader, out io.Writer) (bool, error) {
	if len(args) != 1 || args[0] != childArgument {
		return false, nil
	}
	var writing Writing
	if err := json.NewDecoder(in).Decode(&writing); err != nil {
		return true, err
	}
	written, err := Write(ctx, writing)
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(out).Encode(written)
}
