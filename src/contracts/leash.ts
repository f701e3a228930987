/**
 * How far steps may reach: which programs they may run, which hosts they may ask, which secrets they may use.
 * Nothing, until the operator says so.
 */
import * as z from 'zod'

/** A program with its first arguments, as they are written with a space between: `npm test`. */
const LeashedProgram = z
  .string()
  .max(1_024)
  .regex(
    /^\S+( \S+)*$/,
    'expected a program and its first arguments with one space between, such as npm test',
  )

const LeashedHost = z
  .string()
  .max(300)
  .refine((entry) => addressOf(entry) !== null, 'expected a host or host:port, such as api.example.com:443')

const LeashedVariable = z
  .string()
  .max(128)
  .regex(/^(?!TURNBELL_)[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of a variable, and none of TURNBELL_')

export const Leash = z.strictObject({
  /** Programs with their first arguments; what follows these is free. */
  exec: z.array(LeashedProgram).default([]),
  /** Hosts; without a port any port of theirs. */
  network: z.array(LeashedHost).default([]),
  /** Environment variables of the hub that headers may refer to. */
  env: z.array(LeashedVariable).default([]),
})
export type Leash = z.infer<typeof Leash>

export interface Address {
  /** As URLs spell it: lower case, IPv6 in brackets, one form for each IP address. */
  host: string
  /** Null for any. */
  port: number | null
}

/** `host`, `host:port`, `[::1]:port` or `::1`; null for anything else, patterns among it. */
export function addressOf(entry: string): Address | null {
  const bare_ipv6 = /^[^[\]]*:[^[\]]*:[^[\]]*$/.test(entry)
  const [, host, port] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(bare_ipv6 ? `[${entry}]` : entry) ?? []
  if (host === undefined || /[\s/\\@?#%*]/.test(host) || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535)
    return null
  const url = `http://${host}/`
  if (!URL.canParse(url)) return null
  return { host: new URL(url).hostname, port: port === undefined ? null : Number(port) }
}
