/**
 * Installs the external programs that check the hub's API for `npm run test:judges` into the ignored folder `.judges/`.
 * They are hundreds of megabytes, and one of them needs a newer Node than turnbell, so they are never dependencies.
 */
import { fetchPackages } from './fetch-packages.mjs'

fetchPackages(
  '.judges',
  {
    // Only for the conformance suite.
    node: '22.23.3',
    '@modelcontextprotocol/conformance': '0.2.0-alpha.12',
    '@modelcontextprotocol/inspector': '0.22.0',
    '@redocly/cli': '2.77.0',
    '@asyncapi/parser': '3.6.3',
    'onnxruntime-node': '1.30.0',
  },
  // Otherwise it downloads files that only graphics cards need, from another host.
  { ONNXRUNTIME_NODE_INSTALL: 'skip' },
)
