// The measurements of berth-placement, except for the counts of its calls.
#ifndef BERTH_SERVICES_PLACEMENT_METRICS_H_
#define BERTH_SERVICES_PLACEMENT_METRICS_H_

#include "placement/ledger/ledger.h"
#include "services/process/metrics.h"
#include "services/process/workers.h"
#include "services/report/sessions.h"

namespace berth::services {

// Adds the measurements to `metrics`. `stale_age`: when migrations count as stale. The objects must
// live until `metrics` stops listening.
void MeasurePlacement(const placement::Ledger* ledger, const Workers* workers,
                      const ReportSessions* sessions, absl::Duration stale_age, Metrics* metrics);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PLACEMENT_METRICS_H_
