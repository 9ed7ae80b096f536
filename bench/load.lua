-- One kind of request, each with a messageId of its own. Arguments after `--`: method path headers body,
-- headers as name=value joined by commas; every %ID% in the body becomes unique.

local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
end

function init(arguments)
  method, path, body = arguments[1], arguments[2], arguments[4] or ""
  headers = {}
  for name, value in string.gmatch(arguments[3], "([^=,]+)=([^,]+)") do
    headers[name] = value
  end
  run, sent = tostring(os.time()) .. "-" .. tostring(number), 0
  fixed = nil
  if not string.find(body, "%%ID%%") then
    fixed = wrk.format(method, path, headers, body)
  end
end

function request()
  if fixed then
    return fixed
  end
  sent = sent + 1
  return wrk.format(method, path, headers, (string.gsub(body, "%%ID%%", run .. "-" .. sent)))
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "bad": %d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
