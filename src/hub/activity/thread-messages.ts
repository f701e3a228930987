/** Messages between the hub and its activity thread. One request has one answer; log lines come at any time. */
import type { ErrorCode } from '../../contracts/errors/errors.ts'
import type { Activity } from '../../modules/activity/types.ts'

export type ActivityMethod = keyof Activity

/** `workerData` of the thread. */
export interface ThreadSettings {
  /** Path of the database. */
  file: string
  capture: 'full' | 'facts' | 'off'
  deny: readonly string[]
  retention_days: number
  bytes_max: number
}

export interface ThreadRequest {
  id: number
  method: ActivityMethod
  input: unknown
}

export type ThreadMessage =
  | { id: number; result: unknown }
  | { id: number; error: ThreadError }
  | { log: 'info' | 'warn' | 'error'; fields: object; message: string }

/** An expected error has a code; any other one only its stack. */
export type ThreadError = { code: ErrorCode; detail: string; hint: string } | { code: null; stack: string }
