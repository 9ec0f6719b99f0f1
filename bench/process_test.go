package main

import (
	"bufio"
	"os/exec"
	"testing"
	"time"
)

func TestTheTimesOfAProcessAreReadWhateverItIsCalled(t *testing.T) {
	p, err := parseStat([]byte("7 (a) S ) b) R 3 7 7 0 -1 4 1 2 3 4 150 50 20 5 20 0 1"))
	want := process{parent: 3, used: 2 * time.Second, reaped: 250 * time.Millisecond}
	if err != nil || p != want {
		t.Errorf("got %+v, %v, want %+v", p, err, want)
	}
	for _, stat := range []string{"", "7 (a) R 3", "7 (a) R 3 7 7 0 -1 4 1 2 3 4 x 50 20 5 20"} {
		if p, err := parseStat([]byte(stat)); err == nil {
			t.Errorf("%q: got %+v, want an error", stat, p)
		}
	}
}

// What a process of the database has used is not lost when it ends.
func TestTheTimeOfAFamilyHoldsThatOfChildrenThatEnded(t *testing.T) {
	const family = `(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done); echo done; read end`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", family)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	own, err := readProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	all, err := familyCPU(cmd.Process.Pid)
	if err != nil || own.reaped < 2*tick || all < own.used+own.reaped {
		t.Errorf("the family used %v, %v; its ended child %v, its parent %v", all, err, own.reaped, own.used)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // read finds the end, which is an error to sh
}

// A process of one thread is told to the nanosecond where that is kept, and as
// the kernel's steps tell it otherwise: the two agree.
func TestTheTimeOfASingleThreadIsThatOfTheSteps(t *testing.T) {
	const busy = `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read end`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", busy)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fine, err1 := single(cmd.Process.Pid)
	rough, err2 := readProcess(cmd.Process.Pid)
	if err1 != nil || err2 != nil || fine.used <= 0 || (fine.used-rough.used).Abs() > 3*tick {
		t.Errorf("%v and %v, %v, %v: want the same within the steps", fine.used, rough.used, err1, err2)
	}
	if fine.parent != rough.parent || fine.reaped != rough.reaped {
		t.Errorf("%+v and %+v differ in more than the time", fine, rough)
	}
	_ = stdin.Close()
	_ = cmd.Wait()
}
