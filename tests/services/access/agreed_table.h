// The table of roles and calls as people have agreed on it, spelled out once more beside the protos.
#ifndef BERTH_TESTS_SERVICES_ACCESS_AGREED_TABLE_H_
#define BERTH_TESTS_SERVICES_ACCESS_AGREED_TABLE_H_

namespace berth::services {

// Calls, without their packages, and the roles that may make them.
struct AgreedRow {
  const char* roles;
  const char* methods;
};

inline constexpr AgreedRow kAgreedTable[] = {
    {"reader scheduler operator admin",
     "AllocationService/GetAllocations AllocationService/ListProviderAllocations "
     "AssociationService/GetProviderAggregates AssociationService/GetProviderTraits "
     "AuditService/AuditAllocations AuditService/ListStaleMigrations "
     "CandidateService/Explain CandidateService/FindCandidates CandidateService/GetCapacity "
     "CatalogService/GetClass CatalogService/GetTrait CatalogService/ListClasses "
     "CatalogService/ListTraits ConsumerService/ListConsumerTypes "
     "ConsumerService/ListConsumers FleetService/GetNode FleetService/GetNodeStatistics "
     "FleetService/GetService FleetService/ListNodes FleetService/ListServices "
     "HostService/DescribeHost HostService/ListHosts InstanceService/GetInstance "
     "InstanceService/GetMigration InstanceService/ListInstances "
     "InstanceService/ListMigrations ServerGroupService/GetServerGroup "
     "ServerGroupService/ListServerGroups HostStateService/ListHostStates "
     "AggregateService/GetAggregate "
     "AggregateService/ListAggregates InventoryService/GetInventories "
     "InventoryService/GetInventory LedgerService/ExportLedger LedgerService/GetRevision "
     "LedgerService/ListLostChanges ProviderService/GetProvider "
     "ProviderService/ListProviders TrackerService/GetNodeView TrackerService/ListNodes "
     "UsageService/GetProviderUsages UsageService/GetUsages UsageService/ReportUsages "
     "WatchService/Watch "},
    {"scheduler operator admin",
     "AllocationService/AdjustAllocations AllocationService/DeleteAllocations "
     "AllocationService/SetAllocations CandidateService/Claim CandidateService/ClaimMany "
     "ConsumerService/ReleaseConsumers ConsumerService/SetLease "
     "InstanceService/DeleteInstance ServerGroupService/DeleteServerGroup "
     "ServerGroupService/SetServerGroup ServerGroupService/UpdateServerGroupMembers "
     "LedgerService/GetRequest TrackerService/AbortClaim "
     "TrackerService/ClaimInstance TrackerService/ClaimMove TrackerService/DropMoveClaim "
     "TrackerService/UpdateUsage "},
    {"tracker scheduler operator admin",
     "InstanceService/CreateMigration InstanceService/EndMove InstanceService/SetInstance "
     "InstanceService/UpdateMigration "},
    {"operator admin",
     "AccessService/GetAccessRules AggregateService/DeleteAggregate "
     "AggregateService/SetAggregate AssociationService/ClearProviderTraits "
     "AssociationService/SetProviderAggregates "
     "AssociationService/SetProviderTraits AuditService/ReleaseEvacuated "
     "AuditService/RepairAllocations CatalogService/CreateClass CatalogService/DeleteClass "
     "CatalogService/DeleteTrait CatalogService/EnsureClass CatalogService/EnsureTrait "
     "FleetService/AuditNode FleetService/CreateNode FleetService/DeleteNode "
     "FleetService/DeleteService FleetService/DisableService FleetService/EnableService "
     "FleetService/ForceServiceDown FleetService/UpdateNode HostService/ActOnHost "
     "HostService/UpdateHost InventoryService/CreateInventory "
     "InventoryService/DeleteAllInventories InventoryService/DeleteInventory "
     "InventoryService/SetInventories InventoryService/UpdateInventory "
     "LedgerService/SelfCheck ProviderService/CreateProvider ProviderService/DeleteProvider "
     "ProviderService/UpdateProvider ReshapeService/ApplyTopology ReshapeService/Reshape "
     "TrackerService/AuditNow TrackerService/Drain TrackerService/SetProviderStatus "},
    {"admin", "LedgerService/ImportLedger LedgerService/SetFormat LedgerService/StartEpoch "},
    {"tracker", "ReportService/Session "},
    {"tracker reader scheduler operator admin",
     "AccessService/WhoAmI ServerReflection/ServerReflectionInfo "},
    {"tracker reader scheduler operator admin placement", "Health/Check Health/Watch "},
    {"admin",
     "Channelz/GetChannel Channelz/GetServer Channelz/GetServerSockets Channelz/GetServers "
     "Channelz/GetSocket Channelz/GetSubchannel Channelz/GetTopChannels "},
};

}  // namespace berth::services

#endif  // BERTH_TESTS_SERVICES_ACCESS_AGREED_TABLE_H_
