"""The work of `dragoman task push-config`."""

import msgspec

from dragoman.cli.invocation import Invocation
from dragoman.cli.reach import reached
from dragoman.cli.render import Label, config_lines, field
from dragoman.client.wire import encode
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
)

__all__ = ["create", "delete", "show", "show_page"]


async def create(invocation: Invocation, config: TaskPushNotificationConfig) -> None:
    """Registers the webhook, and shows the configuration as the agent has it."""
    given = (config.token, config.authentication and config.authentication.credentials)
    for secret in given:
        if secret:
            invocation.redact.hide(secret)
    async with reached(invocation) as agent:
        _show(invocation, await agent.client.create_task_push_notification_config(config))


async def show(invocation: Invocation, task_id: str, config_id: str) -> None:
    """Shows one configuration."""
    request = GetTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)
    async with reached(invocation) as agent:
        _show(invocation, await agent.client.get_task_push_notification_config(request))


async def show_page(invocation: Invocation, task_id: str, page_size: int | None, page_token: str) -> None:
    """Shows one page of configurations."""
    request = ListTaskPushNotificationConfigsRequest(task_id=task_id, page_size=page_size, page_token=page_token)
    async with reached(invocation) as agent:
        page = await agent.client.list_task_push_notification_configs(request)
    out = invocation.out
    if not out.json:
        for config in page.configs:
            out.lines(config_lines(config))
        if page.next_page_token:
            out.lines([field(Label.NEXT_PAGE, page.next_page_token)])
    elif out.stream:
        for config in page.configs:
            out.document(encode(config))
    else:
        out.document(encode(page))


async def delete(invocation: Invocation, task_id: str, config_id: str) -> None:
    """Deletes a configuration, if it is there."""
    request = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)
    async with reached(invocation) as agent:
        await agent.client.delete_task_push_notification_config(request)
    if invocation.out.json:
        invocation.out.document(msgspec.json.encode({}))
    else:
        invocation.out.lines([field(Label.CONFIG_ID, config_id), field(Label.DELETED, "yes")])


def _show(invocation: Invocation, config: TaskPushNotificationConfig) -> None:
    if invocation.out.json:
        invocation.out.document(encode(config))
    else:
        invocation.out.lines(config_lines(config))
