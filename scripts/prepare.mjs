/**
 * Builds dist/ when npm installs a checkout: `npm ci`, `npm install --global .`, or an install from a git URL. npm links a
 * checkout that is installed globally without installing its dependencies, so they are installed here first.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const { npm_command, npm_config_global, npm_execpath } = process.env

// `prepack` builds in these cases.
if (npm_command === 'pack' || npm_command === 'publish') process.exit()
if (npm_config_global === 'true' && !hasBuildTools()) installHere()
if (hasBuildTools()) run(process.execPath, ['build.mjs'])
else console.warn('turnbell is not built: its development dependencies were left out')

function hasBuildTools() {
  return fs.existsSync(path.join(root, 'node_modules/esbuild/package.json'))
}

function installHere() {
  // These settings of the outer command would install into its prefix.
  const env = { ...process.env }
  for (const name of ['global', 'prefix', 'local_prefix', 'global_prefix']) delete env[`npm_config_${name}`]
  const options = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  run(process.execPath, [npm_execpath, ...options], env)
}

function run(command, args, env = process.env) {
  // npm hides what a script prints unless it fails.
  const { status } = spawnSync(command, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) process.exit(status ?? 1)
}
