package main

import (
	"crypto/rand"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed all:template
var template embed.FS

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init DIR",
		Short: "Write a folder that serves, to start from",
		Long: `init writes a boot document with a fresh secret and a small schema into DIR, which
must be empty or not there yet. Edit them, or serve them as they are: they say in comments what more
there is to turn on.`,
		Example: `  rowcast init notes
  rowcast serve --config notes/rowcast.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: work(func(cmd *cobra.Command, args []string) error {
			written, err := writeTemplate(args[0])
			if err != nil {
				return err
			}
			var said strings.Builder
			for _, name := range written {
				fmt.Fprintf(&said, "wrote %s\n", name)
			}
			fmt.Fprintf(&said, "next: rowcast serve --config %s\n", filepath.Join(args[0], "rowcast.yaml"))
			_, err = io.WriteString(cmd.OutOrStdout(), said.String())
			return err
		}),
	}
}

// secretMarks stand for secrets in the template, a fresh one each.
var secretMarks = []string{"@SECRET@", "@HOOK@"}

// writeTemplate fills dir and returns what it wrote.
func writeTemplate(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty: name a new folder", dir)
	}
	secrets, err := freshSecrets()
	if err != nil {
		return nil, err
	}
	var written []string
	err = fs.WalkDir(template, "template", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(strings.TrimPrefix(path, "template"), "/")))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755) //nolint:gosec // a folder like any other of its owner; the one file with a secret is 0600
		}
		data, err := template.ReadFile(path)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		text := secrets.Replace(string(data))
		if text != string(data) {
			mode = 0o600 // it holds secrets from now on
		}
		written = append(written, target)
		return os.WriteFile(target, []byte(text), mode)
	})
	return written, err
}

// freshSecrets puts a secret in the place of each mark.
func freshSecrets() (*strings.Replacer, error) {
	var pairs []string
	for _, mark := range secretMarks {
		secret := make([]byte, 32)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		pairs = append(pairs, mark, hex.EncodeToString(secret))
	}
	return strings.NewReplacer(pairs...), nil
}
