# What pint asks that is not so here. Everything else is asked of every rule.

# It always fires: its absence is what tells that nothing is evaluated or delivered.
rule {
  match {
    kind = "alerting"
    name = "Watchdog"
  }
  disable = ["alerts/comparison"]
}

# A kill that was counted has happened: to wait would make it no truer, and counters that restart with the exporter
# do not make one up, as increase() takes a fall for a restart.
rule {
  match {
    kind = "alerting"
    name = "(Container)?OOMKill"
  }
  disable = ["promql/fragile"]
}

# They say what is so already, and have nothing to wait for. What pint fears, that the second side of an "or" holds
# because the first is not there yet, cannot be: the modes of an exporter are on one page.
rule {
  match {
    kind = "alerting"
    name = "XID|GPULost|NVMeFailing|ContainerLimitUncovered"
  }
  disable = ["promql/fragile"]
}

# A week is looked back over every five minutes, in a group of its own, and what it looks at is recorded by
# another one at every evaluation. That the two are not in step costs the median nothing.
rule {
  match {
    kind = "recording"
    name = "host_device:uma_nvme_operation_seconds:median7d"
  }
  disable = ["rule/dependency"]
}

# A cgroup has one path, whose parts are no labels: sessions of users are told by a part of it.
rule {
  match {
    kind = "recording"
    name = "host_comm_cgroup:uma_process_start_time_seconds:min"
  }
  disable = ["promql/regexp"]
}
