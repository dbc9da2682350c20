#include "services/cli/session/reflection.h"

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/dynamic_message.h"
#include "nlohmann/json.hpp"
#include "services/cli/commands/command.h"
#include "services/cli/session/failure.h"
#include "services/cli/session/json.h"
#include "services/cli/session/text_file.h"

namespace berth::cli {
namespace {

struct ListArguments {
  std::string service;
};

struct SchemaArguments {
  std::string symbol;
};

struct CallArguments {
  std::string method;
  std::string body;
};

std::string JsonList(const std::vector<std::string>& names) {
  return nlohmann::json(names).dump(2) + "\n";
}

std::string NameLines(const std::vector<std::string>& names) {
  return names.empty() ? "" : absl::StrJoin(names, "\n") + "\n";
}

// Returns the full name of the service `name`. The user may leave out the package of the name.
absl::StatusOr<std::string> ServiceName(Reflection& reflection, const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(const auto services, reflection.Services());
  std::vector<std::string> found;
  for (const std::string& service : services) {
    if (service == name) return service;
    if (absl::EndsWith(service, "." + name)) found.push_back(service);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return Refused(
        absl::StatusCode::kNotFound, "SERVICE_UNKNOWN",
        absl::StrCat("the server has no service '", name, "'; `berth list` shows its services"),
        {{{"service", name}}});
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is not unique: write ", absl::StrJoin(found, " or ")));
}

absl::StatusOr<const google::protobuf::ServiceDescriptor*> LoadService(Reflection& reflection,
                                                                       const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(const auto full, ServiceName(reflection, name));
  BERTH_RETURN_IF_ERROR(reflection.Load(full));
  const google::protobuf::ServiceDescriptor* service = reflection.Service(full);
  if (service == nullptr) return absl::InternalError(absl::StrCat(full, " is not a service"));
  return service;
}

absl::Status ListMethods(Session& session, Reflection& reflection, const std::string& name) {
  BERTH_ASSIGN_OR_RETURN(const auto service, LoadService(reflection, name));
  std::vector<std::string> names;
  names.reserve(service->method_count());
  for (int i = 0; i < service->method_count(); ++i) {
    names.push_back(absl::StrCat(std::string(service->full_name()), "/",
                                 std::string(service->method(i)->name())));
  }
  return session.PrintJson(JsonList(names), NameLines(names), names);
}

absl::Status ListServicesOrMethods(Session& session, const ListArguments& arguments) {
  Reflection reflection(session);
  if (!arguments.service.empty()) return ListMethods(session, reflection, arguments.service);
  BERTH_ASSIGN_OR_RETURN(const auto services, reflection.Services());
  return session.PrintJson(JsonList(services), NameLines(services), services);
}

// Returns `symbol` as the server names it. Adds the package if the user gave a service without it,
// and turns `Service/Method` into `package.Service.Method`.
std::string FullSymbol(Reflection& reflection, const std::string& symbol) {
  const std::vector<std::string> parts = absl::StrSplit(symbol, absl::MaxSplits('/', 1));
  const auto service = ServiceName(reflection, parts[0]);
  if (!service.ok()) return symbol;
  return parts.size() == 2 ? absl::StrCat(*service, ".", parts[1]) : *service;
}

absl::Status DescribeSchema(Session& session, const SchemaArguments& arguments) {
  Reflection reflection(session);
  const std::string symbol = FullSymbol(reflection, arguments.symbol);
  BERTH_RETURN_IF_ERROR(reflection.Load(symbol));
  std::string text;
  if (const auto* service = reflection.Service(symbol)) {
    text = service->DebugString();
  } else if (const auto* message = reflection.Message(symbol)) {
    text = message->DebugString();
  } else if (const auto* enumeration = reflection.Enum(symbol)) {
    text = enumeration->DebugString();
  } else if (const auto* method = reflection.Method(symbol)) {
    text = absl::StrCat(method->DebugString(), method->input_type()->DebugString(),
                        method->output_type()->DebugString());
  } else {
    return absl::NotFoundError(
        absl::StrCat("'", symbol, "' is not a service, method, message or enum"));
  }
  const nlohmann::ordered_json json = {{"symbol", symbol}, {"text", text}};
  return session.PrintJson(json.dump(2) + "\n", text, {symbol});
}

absl::StatusOr<std::string> ReadBody(const std::string& body) {
  absl::string_view path = body;
  if (body == "-") return ReadText(body);
  return absl::ConsumePrefix(&path, "@") ? ReadText(std::string(path)) : body;
}

// Splits `text`, in which several JSON values follow each other, into these values.
absl::StatusOr<std::vector<std::string>> JsonValues(const std::string& text) {
  std::vector<std::string> values;
  std::istringstream stream(text);
  while ((stream >> std::ws) && !stream.eof()) {
    try {
      nlohmann::ordered_json value;
      stream >> value;
      values.push_back(value.dump());
    } catch (const nlohmann::json::exception& error) {
      return absl::InvalidArgumentError(absl::StrCat("-d is not valid JSON: ", error.what()));
    }
  }
  return values;
}

absl::StatusOr<std::vector<std::string>> Requests(const google::protobuf::MethodDescriptor& method,
                                                  const std::string& body, Session& session) {
  BERTH_ASSIGN_OR_RETURN(auto values, JsonValues(body));
  if (!method.client_streaming()) {
    if (values.empty()) values.push_back("{}");
    if (values.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          std::string(method.name()), " takes one message, but -d holds ", values.size()));
    }
  }
  google::protobuf::DynamicMessageFactory factory;
  std::vector<std::string> requests;
  for (const std::string& value : values) {
    const std::unique_ptr<google::protobuf::Message> request(
        factory.GetPrototype(method.input_type())->New());
    BERTH_RETURN_IF_ERROR(FromJson(value, request.get()));
    const auto* id = method.input_type()->FindFieldByName("request_id");
    const bool wanted = id != nullptr && !session.settings.request_id.empty();
    if (wanted && request->GetReflection()->GetString(*request, id).empty()) {
      request->GetReflection()->SetString(request.get(), id, session.settings.request_id);
    }
    requests.push_back(request->SerializeAsString());
  }
  return requests;
}

absl::Status CallMethod(Session& session, Reflection& reflection, const std::string& service_name,
                        const std::string& method_name, const std::string& body) {
  BERTH_ASSIGN_OR_RETURN(const auto service, LoadService(reflection, service_name));
  const google::protobuf::MethodDescriptor* method = service->FindMethodByName(method_name);
  const std::string full = absl::StrCat(std::string(service->full_name()), "/", method_name);
  if (method == nullptr) {
    return Refused(absl::StatusCode::kNotFound, "METHOD_UNKNOWN",
                   absl::StrCat("there is no method ", full, "; `berth call ", service_name,
                                "` lists its methods"),
                   {{{"method", full}}});
  }
  BERTH_ASSIGN_OR_RETURN(const auto requests, Requests(*method, body, session));
  google::protobuf::DynamicMessageFactory factory;
  const bool streams = method->server_streaming();
  const auto show = [&](const std::string& bytes) {
    const std::unique_ptr<google::protobuf::Message> answer(
        factory.GetPrototype(method->output_type())->New());
    if (!answer->ParseFromString(bytes)) {
      return absl::InternalError(
          "the server's answer cannot be read: does it run another release?");
    }
    session.data() << ToJson(*answer, streams ? JsonForm::kLine : JsonForm::kIndented);
    session.data().flush();
    return absl::OkStatus();
  };
  const auto timeout = streams || method->client_streaming()
                           ? session.settings.timeout
                           : std::optional<absl::Duration>(session.Timeout());
  return session.Server().Stream("/" + full, requests, timeout, show);
}

absl::Status Call(Session& session, const CallArguments& arguments) {
  Reflection reflection(session);
  const size_t slash = arguments.method.rfind('/');
  if (slash == std::string::npos) return ListMethods(session, reflection, arguments.method);
  BERTH_ASSIGN_OR_RETURN(const auto body, ReadBody(arguments.body));
  return CallMethod(session, reflection, arguments.method.substr(0, slash),
                    arguments.method.substr(slash + 1), body);
}

}  // namespace

void AddReflectionCommands(CLI::App& app, Session& session) {
  CLI::App* call =
      AddVerb(app, "call", "Call any method of a gRPC server that offers reflection",
              "berth call ProviderService/ListProviders -d '{\"rootsOnly\": true}'\n"
              "berth call LedgerService\n"
              "echo '{\"name\": \"CUSTOM_A100\"}' | berth call CatalogService/EnsureTrait -d -",
              "Raw gRPC");
  CallArguments& calling = Does(call, session, Call);
  call->add_option("method", calling.method, "SERVICE/METHOD; SERVICE alone lists its methods")
      ->required();
  call->add_option("-d,--data", calling.body,
                   "The request as JSON, @FILE, or - for standard input; left out: {}");

  CLI::App* list = AddVerb(app, "list", "List the gRPC services of a server, or the methods of one",
                           "berth list\nberth list ProviderService", "Raw gRPC");
  list->add_option("service", Does(list, session, ListServicesOrMethods).service,
                   "The service; left out: list all services");

  CLI::App* describe =
      AddVerb(app, "describe", "Describe a service, method, message or enum of a server",
              "berth describe ProviderService/CreateProvider\n"
              "berth describe berth.placement.v1.Inventory",
              "Raw gRPC");
  describe
      ->add_option("symbol", Does(describe, session, DescribeSchema).symbol,
                   "The name of the service, method, message or enum")
      ->required();
}

}  // namespace berth::cli
