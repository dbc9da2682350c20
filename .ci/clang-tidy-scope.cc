// A plugin of clang-tidy: its checks look at what stands in our files, and no longer at everything that the headers of Debian's
// libraries declare, which took most of its time. From our files they still see into those headers.
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/FrontendPluginRegistry.h"

namespace {

class OursAlone : public clang::ASTConsumer {
 public:
  void HandleTranslationUnit(clang::ASTContext& context) override {
    std::vector<clang::Decl*> ours;
    for (clang::Decl* const declared : context.getTranslationUnitDecl()->decls()) {
      if (!context.getSourceManager().isInSystemHeader(declared->getLocation()))
        ours.push_back(declared);
    }
    context.setTraversalScope(ours);
  }
};

class BeforeTheChecks : public clang::PluginASTAction {
 public:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        llvm::StringRef) override {
    return std::make_unique<OursAlone>();
  }
  bool ParseArgs(const clang::CompilerInstance&, const std::vector<std::string>&) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }
};

const clang::FrontendPluginRegistry::Add<BeforeTheChecks> kAdded(
    "ours-alone", "narrows the checks to files of ours");

}  // namespace
