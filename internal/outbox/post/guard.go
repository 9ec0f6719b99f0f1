package post

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// errRefusedAddress is returned for an address that no target may have.
var errRefusedAddress = errors.New("address refused")

// keepAlive finds out about receivers that vanish while a connection is kept.
const keepAlive = 15 * time.Second

// guardedDial dials as the net package does, and refuses an address after its
// name was resolved, so that no name leads past it.
func guardedDial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{KeepAlive: keepAlive, Control: control}
	return d.DialContext(ctx, network, addr)
}

// control has the form of net.Dialer.Control.
func control(network, address string, _ syscall.RawConn) error {
	place, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s over %s", errRefusedAddress, address, network)
	}
	return refuse(place.Addr())
}

// prefixes parses what stands in the tables of this file.
func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

var (
	// metadata are services of clouds that stand in ranges which otherwise are
	// allowed; those in link-local ranges are refused with them.
	metadata = prefixes(
		"100.100.100.200/32", // Alibaba
		"168.63.129.16/32",   // Azure's host
		"fd00:ec2::/32",      // AWS
		"fd20:ce::254/128",   // Google
		"fd00:42::42/128",    // Scaleway
	)
	nat64 = netip.MustParsePrefix("64:ff9b::/96")

	// special refuses IANA's special ranges but those that private networks use.
	special = ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithAllowedV4Prefixes(prefixes(
			"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8",
			"100.64.0.0/10", // shared: carriers and overlay networks
			"198.18.0.0/15", // labs
		)...),
		ssrf.WithAllowedV6Prefixes(prefixes("::1/128", "fc00::/7")...),
	)
)

// refuse returns errRefusedAddress for what no target may have. An IPv4 address
// is judged alike in each of its spellings; 6to4 is refused whole.
func refuse(ip netip.Addr) error {
	judged := ip.Unmap().WithZone("")
	if nat64.Contains(judged) {
		bytes := judged.As16()
		judged = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for _, p := range metadata {
		if p.Contains(judged) {
			return fmt.Errorf("%w: %s", errRefusedAddress, ip)
		}
	}
	if special.SafeAddr(judged) != nil {
		return fmt.Errorf("%w: %s", errRefusedAddress, ip)
	}
	return nil
}
