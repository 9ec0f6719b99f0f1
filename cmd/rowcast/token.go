package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/spf13/cobra"
)

func newToken() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a token that the server accepts",
		Long: `token signs a token with the HMAC secret of the boot document (the first
auth.jwt entry that has one). Where there is none, tokens come from whoever holds
the private key: ask your identity provider.`,
		Example: `  rowcast token --sub ann
  rowcast token --sub bob --roles staff,admin --tenant acme:test:shop:t1 --ttl 8h
  curl -H "Authorization: Bearer $(rowcast token --sub ann)" http://127.0.0.1:8080/data/order`,
		Args: cobra.NoArgs,
	}
	config := configFlag(cmd)
	sub := cmd.Flags().String("sub", "", "who the token is for (required)")
	roles := cmd.Flags().StringSlice("roles", nil, "roles, separated by commas")
	tenant := cmd.Flags().String("tenant", "", "tenant; may be left out where there is one")
	ttl := cmd.Flags().Duration("ttl", time.Hour, "how long the token is good")
	_ = cmd.MarkFlagRequired("sub") // fails only for a flag that is not there
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		doc, err := load(cmd, *config)
		if err != nil {
			return err
		}
		token, err := signToken(doc, auth.Claims{Subject: *sub, Roles: *roles, Tenant: *tenant}, *ttl)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
		return err
	})
	return cmd
}

// signToken signs c, good from now for ttl.
func signToken(doc *boot.Document, c auth.Claims, ttl time.Duration) (string, error) {
	if ttl < time.Second {
		return "", errors.New("--ttl: a token is good for at least one second")
	}
	names := doc.TenantNames()
	switch {
	case c.Tenant == "" && len(names) == 1:
		c.Tenant = names[0]
	case !slices.Contains(names, c.Tenant):
		return "", fmt.Errorf("--tenant: name one of %s", strings.Join(names, ", "))
	}
	signer, err := auth.NewSigner(doc.Auth.JWT)
	if errors.Is(err, auth.ErrNoSecret) {
		return "", errors.New("auth.jwt has no secret to sign with: take a token from whoever holds the private key, " +
			"or add an entry {alg: HS256, secret: \"${NAME}\"} for development")
	}
	if err != nil {
		return "", err
	}
	c.Issued = time.Now()
	c.Expires = c.Issued.Add(ttl)
	return signer.Sign(c)
}
