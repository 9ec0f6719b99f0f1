package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// target is one fuzz function.
type target struct{ pkg, name string }

// fuzzAll runs every fuzz target of the checkout. go test takes one at a time; as
// many run side by side as there are processors, with one worker each, so that
// none waits for another's build. The first that fails ends all.
func fuzzAll(ctx context.Context, j job) error {
	targets, err := fuzzTargets()
	if err != nil {
		return err
	}
	targets = slices.DeleteFunc(targets, func(t target) bool { return !strings.Contains(t.pkg+"."+t.name, j.fuzz) })
	if len(targets) == 0 {
		return errors.New("no fuzz target fits")
	}
	var printing sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, t := range targets {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one := j
			one.out, one.log = &labelled{&printing, j.out, t.name}, &labelled{&printing, j.log, t.name}
			return fuzz(ctx, one, t)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(j.log, len(targets), "fuzz targets found nothing")
	return nil
}

// fuzz runs one target. Minimising an input that is merely interesting would take
// most of a short run's time where inputs are large, as documents are.
func fuzz(ctx context.Context, j job, t target) error {
	verdict := &verdict{to: j.out}
	j.out = verdict
	return verdict.judge(j.command(ctx, nil, "go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-parallel=1",
		"-fuzztime="+j.fuzztime.String(), "-fuzzminimizetime=10x", t.pkg))
}

// labelled writes what one of several programs prints, line by line as it comes,
// behind its name.
type labelled struct {
	printing *sync.Mutex
	to       io.Writer
	label    string
}

// Write implements io.Writer.
func (l *labelled) Write(text []byte) (int, error) {
	l.printing.Lock()
	defer l.printing.Unlock()
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Fprintf(l.to, "%s: %s", l.label, line); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// fuzzTargets finds them in the source, which is quicker than to compile every
// test to ask it.
func fuzzTargets() ([]target, error) {
	var targets []target
	err := eachFile(func(name string) error {
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets = append(targets, target{pkg: "./" + path.Dir(filepath.ToSlash(name)), name: f.Name.Name})
			}
		}
		return nil
	})
	return targets, err
}
