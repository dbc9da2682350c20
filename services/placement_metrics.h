// What berth-placement measures of itself besides its calls.
#ifndef BERTH_SERVICES_PLACEMENT_METRICS_H_
#define BERTH_SERVICES_PLACEMENT_METRICS_H_

#include "placement/ledger/ledger.h"
#include "services/metrics.h"
#include "services/report_sessions.h"
#include "services/workers.h"

namespace berth::services {

// Adds them to `metrics`. All must live until it stops being read.
void MeasurePlacement(const placement::Ledger* ledger, const Workers* workers,
                      const ReportSessions* sessions, Metrics* metrics);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PLACEMENT_METRICS_H_
