package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// process is what /proc tells of one: user and system time together.
type process struct {
	parent int
	used   time.Duration // by itself
	reaped time.Duration // by children that have ended
}

func readProcess(pid int) (process, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, err
	}
	return parseStat(stat)
}

// parseStat reads /proc/PID/stat. The name in parentheses may hold spaces and
// parentheses; the fields are counted after it.
func parseStat(stat []byte) (process, error) {
	const parent, user, system, childrenUser, childrenSystem = 1, 11, 12, 13, 14
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= childrenSystem {
		return process{}, fmt.Errorf("/proc stat %q", stat)
	}
	var errs error
	number := func(i int) int64 {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		errs = errors.Join(errs, err)
		return n
	}
	p := process{
		parent: int(number(parent)),
		used:   time.Duration(number(user)+number(system)) * tick,
		reaped: time.Duration(number(childrenUser)+number(childrenSystem)) * tick,
	}
	return p, errs
}

// single is readProcess for one that has a single thread: its time is then told
// to the nanosecond, where the kernel keeps that.
func single(pid int) (process, error) {
	p, err := readProcess(pid)
	if err != nil {
		return p, err
	}
	if text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "schedstat")); err == nil {
		running, _, _ := strings.Cut(string(text), " ")
		if ns, err := strconv.ParseInt(running, 10, 64); err == nil && ns > 0 {
			p.used = time.Duration(ns)
		}
	}
	return p, nil
}

// familyCPU returns the processor time of a process and all its children, those
// that have ended and were waited for included. Each has a single thread. Whoever
// forks a process for each connection, as PostgreSQL does, is measured whole by it.
func familyCPU(pid int) (time.Duration, error) {
	for {
		before, err := single(pid)
		if err != nil {
			return 0, err
		}
		sum := before.used + before.reaped
		all, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return 0, err
		}
		for _, path := range all {
			child, _ := strconv.Atoi(filepath.Base(path))
			p, err := readProcess(child)
			if err != nil || p.parent != pid { // it has ended, or is another's
				continue
			}
			if p, err = single(child); err == nil {
				sum += p.used + p.reaped
			}
		}
		after, err := readProcess(pid)
		if err != nil {
			return 0, err
		}
		if after.reaped == before.reaped { // else one ended meanwhile, and may have been missed or counted twice
			return sum, nil
		}
	}
}
