package main

import (
	"fmt"
	"slices"
	"strings"
)

// platform is what a binary runs on.
type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// file is the name of the platform's binary.
func (p platform) file() string {
	name := "rowcast-" + p.os + "-" + p.arch
	if p.os == "windows" {
		name += ".exe"
	}
	return name
}

// choose returns the platforms of a list; "" is all.
func choose(list string) ([]platform, error) {
	if list == "" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("--only %q: there are %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}
