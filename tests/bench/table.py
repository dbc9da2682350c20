"""The table that a newcomer reads: one line a figure, then the ratios."""

import statistics

# What each measurement is called, the column shown, and its unit. {} is what follows the dot in its name.
LINES = (
    ("claims", "claims through gRPC, {} in flight", "per_second", "/s"),
    ("hot_claims", "claims on one host, {} in flight", "per_second", "/s"),
    ("claims_at_half", "claims at half the rate that {} in flight reach", "p99_us", "us"),
    ("claims_at_1700", "claims at 1,700/s, {} in flight at most", "p99_us", "us"),
    ("claims_with_few_ids", "claims with a request id, few ids kept, {} in flight", "per_second", "/s"),
    ("claims_without_ids", "claims beside a day of request ids, {} in flight", "per_second", "/s"),
    ("claims_with_ids", "the same, each with a request id, {} in flight", "per_second", "/s"),
    ("plain_claims", "claims beside those over TLS, {} in flight", "per_second", "/s"),
    ("tls_claims", "claims over mutual TLS, {} in flight", "per_second", "/s"),
    ("plain_clients", "claims of {} clients, each with a connection", "per_second", "/s"),
    ("tls_clients", "the same over mutual TLS, {} clients", "per_second", "/s"),
    ("bulk_claims", "claims, 64 in a message, {} messages in flight", "per_second", "/s"),
    ("bulk_claims_1k", "the same on 1,000 hosts, {} messages in flight", "per_second", "/s"),
    ("pairs", "claims that are released at once, {} in flight", "per_second", "/s"),
    ("tree_claims", "claims of three providers of a tree, {} in flight", "per_second", "/s"),
    ("watched_claims", "claims through gRPC, while {} watch a host each", "per_second", "/s"),
    ("claim_search", "claims that find their own place, {} in flight", "per_second", "/s"),
    ("claim_search_spread", "the same where most is free, {} in flight", "per_second", "/s"),
    ("schedule", "ten places found, one claimed, {} placement processes", "per_second", "/s"),
    ("pairs_through", "claimed and released, {} placement processes", "per_second", "/s"),
    ("pgbench", "pgbench, one claim each, one statement, {} connections", "per_second", "/s"),
    ("pgbench_in_steps", "pgbench, one claim each, lock, read, write, {} conn.", "per_second", "/s"),
    ("openstack_claims", "OpenStack Placement, claims, {} connections", "per_second", "/s"),
    ("openstack_claims_1k", "OpenStack Placement, claims on 1,000 hosts, {} conn.", "per_second", "/s"),
    ("openstack_hot_claims", "OpenStack Placement, claims on one host, {} conn.", "per_second", "/s"),
    ("candidates", "candidates, limit 100, {} in flight", "median_us", "us"),
    ("echo", "echo of the same sizes, {} in flight", "median_us", "us"),
    ("candidates_wide_limit", "candidates, limit 1000, {} in flight", "per_second", "/s"),
    ("candidates_table", "the same as a table, {} in flight", "per_second", "/s"),
    ("openstack_candidates", "OpenStack Placement, limit 1000, {} connections", "per_second", "/s"),
    ("candidates_1k", "the gate's search of 1,000 hosts, limit 1000, {} in flight", "per_second", "/s"),
    ("candidates_1k_table", "the same as a table, {} in flight", "per_second", "/s"),
    ("openstack_candidates_1k", "OpenStack Placement, the same, {} connections", "per_second", "/s"),
    ("tree_candidates_all", "2,000 candidates of 1,000 trees, {} in flight", "per_second", "/s"),
    ("tree_candidates_table", "the same as a table, {} in flight", "per_second", "/s"),
    ("tree_candidates_5", "5 candidates of 1,000 trees, {} in flight", "median_us", "us"),
    ("gate_flat_steps", "the gate's step on 1,000 hosts, {} at a time", "per_second", "/s"),
    ("openstack_gate_flat_steps", "OpenStack Placement, the same, {} at a time", "per_second", "/s"),
    ("gate_flat_searches", "the gate's search of 1,000 hosts, all, {} in flight", "per_second", "/s"),
    ("openstack_gate_flat_searches", "OpenStack Placement, the same, {} connections", "per_second", "/s"),
    ("gate_nested_steps", "the gate's step on 1,000 trees, {} at a time", "per_second", "/s"),
    ("openstack_gate_nested_steps", "OpenStack Placement, the same, {} at a time", "per_second", "/s"),
    ("gate_nested_searches", "the gate's search of 1,000 trees, all, {} in flight", "per_second", "/s"),
    ("openstack_gate_nested_searches", "OpenStack Placement, the same, {} connections", "per_second", "/s"),
    ("devices", "6 of 8 devices of one host, {} in flight", "median_us", "us"),
    ("register", "hosts registered, one call each, {} in flight", "per_second", "/s"),
    ("register_in_four_calls", "hosts registered, four calls each, {} in flight", "per_second", "/s"),
    ("openstack_register", "OpenStack Placement, hosts registered, {} conn.", "per_second", "/s"),
    ("candidates_100k_limit_100", "candidates of 100,000 hosts, limit 100, {} in flight", "median_us", "us"),
    ("candidates_100k_limit_5", "candidates of 100,000 hosts, limit 5, {} in flight", "median_us", "us"),
    ("candidates_100k_limit_100_at_half", "the same at half that rate, {} at most", "p99_us", "us"),
    ("candidates_100k_table", "the same as a table, {} in flight", "per_second", "/s"),
    ("candidates_100k_table_at_half", "the same at half that rate, {} at most", "p99_us", "us"),
    ("no_room_100k", "no room in 100,000 hosts, {} in flight", "median_us", "us"),
    ("small_echo", "echo of the same sizes, {} in flight", "median_us", "us"),
)
RATIOS = (
    ("claims_vs_pgbench", "claims : pgbench, each at its best"),
    ("claims_vs_openstack", "claims : OpenStack Placement"),
    ("claim_alone_ms", "one claim at a time, median, ms"),
    ("claim_alone_vs_pgbench_1", "one claim at a time : pgbench with 1 connection, times"),
    ("claims_8_vs_pgbench_8", "claims, 8 in flight : pgbench with 8 connections"),
    ("claim_cpu_us", "CPU of all parties for a claim, at its best, us"),
    ("bulk_claims", "claims, 64 in a message, /s"),
    ("claims_at_1700_p99_ms", "claims at 1,700/s, 8 at most in flight, 99 of 100, ms"),
    ("spread_claims_10k", "claims for the emptiest of 10,000 hosts, /s"),
    ("claims_with_ids_vs_without", "claims with a request id : without"),
    ("claims_with_ids_vs_few", "claims beside a day of request ids : beside few"),
    ("bulk_claims_vs_claims", "claims, 64 in a message : claims"),
    ("bulk_claims_vs_openstack", "claims, 64 in a message : OpenStack Placement"),
    ("bulk_claims_1k_vs_openstack", "claims, 64 in a message : OpenStack Placement, 1,000 hosts"),
    ("claims_at_half_p99_ms", "claims at half the rate of 8 in flight, 99 of 100, ms"),
    ("claims_at_half_of_best_p99_ms", "claims at half the best rate, 99 of 100, ms"),
    ("watchers_cost", "share of claims that 1,000 watchers cost"),
    ("conflict_rate", "share of claims by 32 schedulers that came too late"),
    ("conflict_rate_two_processes", "the same through two placement processes"),
    ("two_processes_vs_one", "writes through two placement processes : one"),
    ("staleness_p50_ms", "a claim is seen by another process after, ms"),
    ("staleness_p99_ms", "99 of 100 of them, ms"),
    ("hot_claims_vs_random", "claims on one host : on random hosts"),
    ("hot_claims_vs_openstack", "claims on one host : OpenStack Placement"),
    ("candidates_10k_median_vs_echo", "candidates : echo, medians of 1 in flight"),
    ("candidates_10k_vs_openstack", "candidates, limit 1000, as a table : OpenStack Placement"),
    ("candidates_messages_10k_vs_openstack", "candidates, limit 1000, as messages : OpenStack Placement"),
    ("candidates_1k_vs_openstack", "the gate's search, as a table : OpenStack Placement"),
    ("candidates_messages_1k_vs_openstack", "the gate's search, as messages : OpenStack Placement"),
    ("gate_flat_steps_vs_openstack", "the gate's steps on 1,000 hosts : OpenStack Placement"),
    ("gate_flat_searches_vs_openstack", "the gate's searches on 1,000 hosts : OpenStack Placement"),
    ("gate_nested_steps_vs_openstack", "the gate's steps on 1,000 trees : OpenStack Placement"),
    ("gate_nested_searches_vs_openstack", "the gate's searches on 1,000 trees : OpenStack Placement"),
    ("wide_6_of_8_ms", "6 of 8 devices, ms"),
    ("register_vs_openstack", "hosts registered : OpenStack Placement"),
    ("search_100k_us", "search of 100,000 hosts, limit 100, in memory, us"),
    ("no_room_100k_us", "no room in 100,000 hosts, through gRPC, us"),
    ("no_room_100k_beyond_echo_us", "the same without the echo, us"),
    ("candidates_100k_at_half_p99_ms", "candidates of these as a table at half the best rate, 99 of 100, ms"),
    ("load_100k_s", "start with 100,000 hosts until the first answer, s"),
    ("resident_100k_gib", "memory with 100,000 hosts, GiB"),
    ("load_10k_s", "start with 10,000 hosts until the first answer, s"),
    ("resident_10k_mib", "memory with 10,000 hosts, MiB"),
    ("load_100k_trees_s", "start with 100,000 trees of seven providers, s"),
    ("resident_100k_trees_mib", "memory with 100,000 trees of seven providers, MiB"),
    ("resident_100k_trees_just_loaded_mib", "the same just after they were loaded, MiB"),
    ("tracker_resident_kib", "memory for each of 2,000 more connected trackers, KiB"),
    ("tls_tracker_resident_kib", "the same over mutual TLS, KiB"),
    ("tls_claims_64_vs_plain", "claims over mutual TLS : plain text, 64 in flight"),
    ("tls_claims_512_vs_plain", "claims over mutual TLS : plain text, 512 in flight"),
    ("tls_clients_64_vs_plain", "the same, 64 clients, each with a connection"),
    ("tls_clients_512_vs_plain", "the same, 512 clients, each with a connection"),
    ("haul_last_vs_first", "the last 100,000 of 2,000,000 claims : the first"),
)


def row(what, figures, key, unit):
    values = [f[key] for f in figures]
    cpu = {who: statistics.median(f["cpu_us"][who] for f in figures) for who in figures[0]["cpu_us"]}
    digits = 0 if statistics.median(values) >= 10 else 2
    print(f"{what:<58} {statistics.median(values):>10,.{digits}f} {unit:<3} {min(values):>8,.{digits}f} .."
          f"{max(values):>8,.{digits}f} {cpu['client']:>9,.0f} {cpu['placement']:>9,.0f} {cpu['postgresql']:>10,.0f}")


def show(found, summary, verdicts):
    """`verdicts`: what follows a ratio that has a promise, by its name."""
    print(f"{'':<58} {'median':>10} {'':<3} {'least .. most':>18} {'us of CPU for each: client, server, PostgreSQL':>29}")
    best = (summary.get("claims_best"), summary.get("pgbench_best"))
    for kind, what, key, unit in LINES:
        names = [name for name in found if name.split(".")[0] == kind]
        for name in sorted(names, key=lambda n: int(n.split(".")[1])):
            row(what.format(name.split(".")[1]) + (" (best)" if name in best else ""), found[name], key, unit)
    if sizes := summary.get("sizes"):
        print(f"{'a search asks in ' + str(sizes['request_bytes']) + ' B and is answered in':<58} {sizes['answer_bytes']:>10,} B")
        print(f"{'which its client decodes in':<58} {sizes['decode_us']:>10,.0f} us")
    for name, what in RATIOS:
        if name in summary:
            verdict = f"  ({verdicts[name]})" if name in verdicts else ""
            print(f"{what:<58} {summary[name]:>10,.{2 if abs(summary[name]) >= 0.1 else 4}f}{verdict}")
