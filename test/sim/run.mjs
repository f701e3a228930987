/** `npm run sim`: Node 20 runs no TypeScript, so the simulation is bundled first. See `main.ts` for what it takes. */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleSimulation } from './bundle.mjs'

const out = await bundleSimulation()
process.on('exit', () => fs.rmSync(out, { recursive: true, force: true }))
process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
process.exitCode = await main(process.argv.slice(2), path.join(out, 'worker.js'))
