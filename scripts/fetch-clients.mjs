/**
 * Installs the agent clients that `npm run test:clients` drives into the ignored folder `.clients/`; with `--former`,
 * the former ones, too. They are hundreds of megabytes, so they are never dependencies.
 */
import { commandOptions } from '../test/support/command/command-options.mjs'
import { CURRENT, FORMER, named } from './client-packages.mjs'
import { fetchPackages } from './fetch-packages.mjs'

const HELP = `usage: node scripts/fetch-clients.mjs [--former]

Installs ${named(CURRENT)}.

  --former   also ${named(FORMER)}, into ${FORMER.folder}/
`
const { values } = commandOptions(HELP, { options: { former: { type: 'boolean', default: false } } })

for (const { folder, versions } of [CURRENT, ...(values.former ? [FORMER] : [])])
  fetchPackages(folder, versions)
