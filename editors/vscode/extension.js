// Starts `whence debug --dap` for each debugging session.
const vscode = require("vscode");

function activate(context) {
    const factory = {
        createDebugAdapterDescriptor() {
            const command = vscode.workspace.getConfiguration("whence").get("command") || "whence";
            return new vscode.DebugAdapterExecutable(command, ["debug", "--dap"]);
        },
    };
    const provider = {
        async resolveDebugConfiguration(folder, configuration) {
            const editor = vscode.window.activeTextEditor;
            if (!configuration.type && editor && editor.document.languageId === "whence-datalog") {
                Object.assign(configuration, { type: "whence", request: "launch", name: "Whence", program: "${file}" });
            }
            if (!configuration.query && !configuration.why && !configuration.whyNot) {
                configuration.query = await vscode.window.showInputBox({
                    prompt: "What is asked?",
                    placeHolder: "path(1, Y)",
                });
                if (!configuration.query) {
                    return undefined;
                }
            }
            return configuration;
        },
    };
    context.subscriptions.push(
        vscode.debug.registerDebugAdapterDescriptorFactory("whence", factory),
        vscode.debug.registerDebugConfigurationProvider("whence", provider),
    );
}

module.exports = { activate, deactivate() {} };
