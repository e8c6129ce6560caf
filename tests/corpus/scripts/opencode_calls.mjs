import { readFileSync } from "node:fs"
import { Trotline } from "./plugin.mjs"
const hooks = await Trotline({ directory: "/srv/shop" })
const played = []
for (const { hook, input, output } of JSON.parse(readFileSync("calls.json", "utf8"))) {
  const call = hook.startsWith("session.")
    ? hooks.event({ event: { type: hook, properties: input } })
    : hooks[hook](input, output)
  played.push(await call.then(() => ({ args: output?.args ?? null }), (error) => ({ thrown: error.message })))
}
console.log(JSON.stringify(played))
