// A session through @vscode/debugadapter-testsupport, the client that VS Code's own debug adapters are tested with.
// node session.js PORT PROGRAM.dl
const assert = require("assert");
const { DebugClient } = require("@vscode/debugadapter-testsupport");

const [port, program] = process.argv.slice(2);

async function session() {
    const client = new DebugClient("node", "", "whence");
    await client.start(Number(port));
    const lines = async (name) => {
        const scopes = (await client.scopesRequest({ frameId: 1 })).body.scopes;
        const reference = scopes.find((scope) => scope.name === name).variablesReference;
        const found = await client.variablesRequest({ variablesReference: reference });
        return found.body.variables.map((one) => `${one.name} = ${one.value}`);
    };
    // Launches, sets a breakpoint, ends the configuration and waits until it is met.
    await client.hitBreakpoint({ program, query: "path(1, Y)", stopOnEntry: false }, { path: program, line: 7 });
    assert.deepStrictEqual(await lines("Bindings"), ["x = 1", "z = 2"]);
    await Promise.all([
        client.stepInRequest({ threadId: 1 }),
        client.assertStoppedLocation("step", { path: program, line: 5 }),
    ]);
    await Promise.all([
        client.nextRequest({ threadId: 1 }),
        client.assertStoppedLocation("step", { path: program, line: 6 }),
    ]);
    await Promise.all([
        client.stepBackRequest({ threadId: 1 }),
        client.assertStoppedLocation("step", { path: program, line: 5 }),
    ]);
    const watched = await client.evaluateRequest({ expression: "edge(x, W)", frameId: 1, context: "watch" });
    assert.strictEqual(watched.body.result, "x = 2, W = 3");
    await assert.rejects(client.evaluateRequest({ expression: "edge(x", frameId: 1 }));
    await client.setBreakpointsRequest({ source: { path: program }, breakpoints: [] });
    await Promise.all([
        client.continueRequest({ threadId: 1 }),
        client.assertOutput("stdout", "path(1, Y): 4 in all"),
        client.waitForEvent("terminated"),
    ]);
    await client.stop();
}

session().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
