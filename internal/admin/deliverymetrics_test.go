package admin_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestMetricsOfDeliveries(t *testing.T) {
	body := get(t, api(t, config(new([]string))), "/metrics", here+" operator").Body.String()
	for _, c := range []struct{ name, labels, value string }{
		{"rowcast_deliveries", `status="pending",target="billing"`, "10"},
		{"rowcast_deliveries", `status="claimed",target="billing"`, "3"},
		{"rowcast_deliveries", `status="failed",target="billing"`, "1"},
		{"rowcast_deliveries", `status="failed",target="gone"`, "7"},
		{"rowcast_deliveries", `status="failed",target="idle"`, "0"},
		{"rowcast_deliveries_blocked", `target="billing"`, "2"},
		{"rowcast_deliveries_inflight", `target="billing"`, "3"},
		{"rowcast_delivery_leases_lost_total", `target="billing"`, "2"},
		{"rowcast_delivery_attempts_total", `outcome="delivered",target="billing"`, "6"},
		{"rowcast_delivery_attempts_total", `outcome="retried",target="billing"`, "3"},
		{"rowcast_delivery_attempts_total", `outcome="failed",target="billing"`, "1"},
		{"rowcast_delivery_attempts_total", `outcome="failed",target="idle"`, "0"},
		{"rowcast_delivery_breaker", `state="probing",target="billing"`, "1"},
		{"rowcast_delivery_breaker", `state="open",target="billing"`, "0"},
		{"rowcast_delivery_breaker", `state="closed",target="idle"`, "1"},
		{"rowcast_delivery_oldest_due_seconds", `target="idle"`, "0"},
	} {
		line := c.name + `{datastore="main",` + c.labels + `,tenant="` + here + `"} ` + c.value + "\n"
		if !strings.Contains(body, line) {
			t.Errorf("missing: %s", line)
		}
	}
	if strings.Contains(body, "theirs") {
		t.Error("a target of another tenant is named")
	}
	due := regexp.MustCompile(`(?m)^rowcast_delivery_oldest_due_seconds\{.*target="billing".*\} (\S+)$`).FindStringSubmatch(body)
	if due == nil {
		t.Fatal("no age of what is due")
	}
	if age, err := strconv.ParseFloat(due[1], 64); err != nil || age < 3600 {
		t.Errorf("due for %s seconds, want an hour and more", due[1])
	}
}
